import t from 'tap'
import { channels } from '../../lib/index.js'
import { bearer } from '../helpers/app.js'
import { job, keyApp, keyOptions, storeWith } from '../helpers/api-keys.js'
import { eventsOf } from '../helpers/sessions.js'

const inDays = (days: number): Date => new Date(Date.now() + days * 86_400_000)
const good = { ...job, scopes: ['a'] }

t.test('app.authn.apiKeys rejects missing, unknown and wrong arguments', async (t) => {
  const { keys, issued } = await keyApp(t)
  const issue = keys.issue.bind(keys) as (given: unknown) => Promise<unknown>
  const rotate = keys.rotate.bind(keys) as (id: unknown, given: unknown) => Promise<unknown>
  const revoke = keys.revoke.bind(keys) as (id: unknown, given?: unknown) => Promise<unknown>
  const wrong = { code: 'ERR_AUTH_API_KEY' }
  for (const member of Object.keys(good)) {
    const missing = { ...wrong, message: `"${member}" is missing` }
    await t.rejects(issue({ ...good, [member]: undefined }), missing, `no ${member}`)
  }
  for (const [member, values] of Object.entries({
    owner: ['', null, {}, Number.NaN, 'a\u0000b', 'x'.repeat(1025), ['alice']],
    name: ['', 7, 'a\nb', 'x'.repeat(101)],
    scopes: [
      'a',
      null,
      [7],
      ['a b'],
      ['a"'],
      [''],
      ['x'.repeat(129)],
      Array(101).fill('a'),
      Array(1),
    ],
    expiresAt: [0, '2030-01-01', new Date(0), new Date(Number.NaN), new Date(), {}],
    isAdmin: [true],
  })) {
    for (const value of values) {
      const found = { ...wrong, message: `"${member}" is wrong` }
      await t.rejects(issue({ ...good, [member]: value }), found, member)
    }
  }
  for (const given of [undefined, null, 'alice', []]) await t.rejects(issue(given), wrong)
  for (const overlap of [undefined, {}, -1, 2_592_001, '0'])
    await t.rejects(rotate(issued.id, { owner: null, overlap }), wrong)
  const present = { owner: undefined }
  await t.rejects(rotate(issued.id, { overlap: 0, ...present }), wrong)
  await t.rejects(rotate(issued.id, { owner: null, overlap: 0, expiresAt: undefined }), wrong)
  await t.rejects(revoke(issued.id, present), wrong, 'an owner that is not set is no permission')
  for (const given of [null, 8, '', true]) await t.rejects(revoke(issued.id, given), wrong)
  await t.rejects(keys.list(undefined as never), wrong)
  for (const id of ['', 'x', '../x', 7, null, undefined, issued.key]) {
    t.equal(await revoke(id, { owner: null }), false)
    t.equal(await rotate(id, { owner: null, overlap: 0 }), null)
  }
  t.equal((await keys.list('alice')).length, 1)
})

t.test('list() describes the keys of an owner, newest first, without secrets', async (t) => {
  const { keys, issued } = await keyApp(t)
  const { key, ...info } = issued
  t.strictSame(await keys.list('alice'), [info])
  t.match(info, {
    owner: 'alice',
    name: 'deploy job',
    scopes: ['notes:read'],
    createdAt: Date,
    expiresAt: null,
    lastUsedAt: null,
    revokedAt: null,
    replacedBy: null,
  })
  t.match(key, new RegExp(`^acme_${info.id}`))
  const later = await keys.issue({ ...good, name: 'x'.repeat(100), expiresAt: inDays(1) })
  const found = (await keys.list('alice')).map(({ id }) => id)
  t.strictSame(found, [later.id, issued.id])
  t.strictSame(await keys.list('bob'), [])
})

t.test('revoke() succeeds once, for the owner or for null', async (t) => {
  const { get, keys, issued } = await keyApp(t)
  t.equal((await get('/apiKey', bearer(issued.key))).status, 200)
  const { id } = await keys.issue({ ...good, owner: 'carol' })
  t.equal(await keys.revoke(id, { owner: null }), true)
  t.equal(await keys.revoke(issued.id, { owner: 'bob' }), false)
  t.equal((await get('/apiKey', bearer(issued.key))).status, 200)
  const calls = [1, 2, 3].map(() => keys.revoke(issued.id, { owner: 'alice' }))
  t.strictSame((await Promise.all(calls)).filter(Boolean), [true])
  t.equal((await get('/apiKey', bearer(issued.key))).status, 401)
  t.match(await keys.list('alice'), [{ id: issued.id, revokedAt: Date }])
})

t.test('rotate() makes one successor, and the old key expires after the overlap', async (t) => {
  const { get, keys, issued } = await keyApp(t)
  t.equal((await get('/apiKey', bearer(issued.key))).status, 200)
  t.equal(await keys.rotate(issued.id, { overlap: 60, owner: 'bob' }), null)
  const next = await keys.rotate(issued.id, { overlap: 60, owner: 'alice' })
  t.match(next, { owner: 'alice', name: 'deploy job', scopes: ['notes:read'], expiresAt: null })
  for (const key of [issued.key, String(next?.key)]) {
    t.equal((await get('/notes', bearer(key))).status, 200)
  }
  const [, old] = await keys.list('alice')
  t.equal(old?.replacedBy, next?.id)
  t.ok(Math.abs(Number(old?.expiresAt) - Date.now() - 60_000) < 5000)
  t.equal(await keys.rotate(issued.id, { owner: null, overlap: 60 }), null, 'rotated already')

  const last = await keys.rotate(String(next?.id), { owner: null, overlap: 0 })
  t.equal((await get('/notes', bearer(String(next?.key)))).status, 401, 'at once')
  t.equal((await get('/notes', bearer(String(last?.key)))).status, 200)
  await keys.revoke(String(last?.id), { owner: null })
  t.equal(await keys.rotate(String(last?.id), { owner: null, overlap: 0 }), null, 'revoked')

  const short = await keys.issue({ ...good, expiresAt: inDays(2) })
  const same = await keys.rotate(short.id, { owner: null, overlap: 2_592_000 })
  t.ok(Math.abs(Number(same?.expiresAt) - Number(inDays(2))) < 5000, 'as long as it was made for')
  const [, kept] = await keys.list('alice')
  t.strictSame(kept?.expiresAt, short.expiresAt, 'never longer than before')
  const now = { owner: null, overlap: 0 }
  const eternal = await keys.rotate(String(same?.id), { ...now, expiresAt: null })
  t.equal(eternal?.expiresAt, null)
  const dated = await keys.rotate(String(eternal?.id), { ...now, expiresAt: inDays(3) })
  t.ok(Math.abs(Number(dated?.expiresAt) - Number(inDays(3))) < 5000)

  const calls = [1, 2, 3, 4].map(() => keys.rotate(String(dated?.id), now))
  t.equal((await Promise.all(calls)).filter((each) => each !== null).length, 1, 'one wins')
})

t.test('of 200 concurrent issue() calls, those beyond maxPerOwner are a 409', async (t) => {
  const { app, keys, issued } = await keyApp(t, keyOptions({ maxPerOwner: 10 }))
  const calls = Array.from({ length: 200 }, () => keys.issue(good).catch((error: unknown) => error))
  const errors = (await Promise.all(calls)).filter((each) => each instanceof Error)
  t.equal(errors.length, 191)
  t.match(errors[0], { code: 'ERR_AUTH_API_KEY', statusCode: 409, message: /10 .*maxPerOwner/ })
  t.equal((await keys.list('alice')).length, 10)
  const next = await keys.rotate(issued.id, { owner: 'alice', overlap: 0 })
  t.equal(typeof next?.key, 'string', 'a rotation is always possible')
  await t.rejects(keys.issue(good), { code: 'ERR_AUTH_API_KEY' })
  await keys.revoke(String(next?.id), { owner: 'alice' })
  await keys.issue(good)
  await t.rejects(keys.issue(good), { code: 'ERR_AUTH_API_KEY' })
  t.equal(app.authn.stats().apiKeys?.storeFailures, 0)
})

t.test('the channel apiKey publishes what happened, without the key', async (t) => {
  const events = eventsOf(t, 'apiKey')
  const { keys, issued } = await keyApp(t)
  const next = await keys.rotate(issued.id, { owner: null, overlap: 0 })
  const id = String(next?.id)
  await keys.revoke(id, { owner: 'bob' })
  await keys.revoke(id, { owner: null })
  await keys.revoke(id, { owner: null })
  const about = { owner: 'alice', name: 'deploy job', registration: '/' }
  t.strictSame(events, [
    { action: 'issued', id: issued.id, ...about },
    { action: 'rotated', id: issued.id, ...about, replacedBy: id },
    { action: 'revoked', id, ...about },
  ])
})

t.test('the events of a request have the id of its key, unless the key is malformed', async (t) => {
  const { get, keys, issued } = await keyApp(t)
  const seen: unknown[] = []
  const listener = ({ apiKeyId }: { apiKeyId?: string }): void => void seen.push(apiKeyId)
  for (const each of [channels.success, channels.failure]) {
    each.subscribe(listener)
    t.teardown(() => each.unsubscribe(listener))
  }
  await get('/apiKey', bearer(issued.key))
  await get('/apiKey', bearer(issued.key))
  await get('/editors', bearer(issued.key))
  await get('/apiKey', bearer(`${issued.key}0`))
  await keys.revoke(issued.id, { owner: null })
  await get('/apiKey', bearer(issued.key))
  t.strictSame(seen, [issued.id, issued.id, issued.id, undefined, issued.id])
})

t.test('issue() keeps milliseconds, and a changed result changes no key', async (t) => {
  const { get, keys } = await keyApp(t)
  let time = Date.UTC(2039, 0)
  while (Math.trunc((time / 1000) * 1000) === time) time += 1
  const expiresAt = new Date(time)
  t.strictSame((await keys.issue({ ...good, expiresAt })).expiresAt, expiresAt)
  const { key, scopes } = await keys.issue({ ...good, scopes: [] })
  ;(scopes as string[]).push('notes:read')
  t.equal((await get('/notes', bearer(key))).status, 403)
})

t.test('a key is revoked even if the look-up for its event fails', async (t) => {
  eventsOf(t, 'apiKey')
  const find = (): Promise<never> => Promise.reject(new Error('gone'))
  const { keys, issued } = await keyApp(t, keyOptions({ store: storeWith({ find }) }))
  t.equal(await keys.revoke(issued.id, { owner: null }), true)
  t.match(await keys.list('alice'), [{ revokedAt: Date }])
})

t.test('a store that fails or lists nonsense is a 503', async (t) => {
  const gone = (): Promise<never> => Promise.reject(new Error('gone'))
  const store = storeWith({ revoke: gone, replace: gone, list: gone })
  const { keys, issued } = await keyApp(t, keyOptions({ store }))
  const away = { code: 'ERR_AUTH_STORE_UNAVAILABLE', statusCode: 503 }
  await t.rejects(keys.revoke(issued.id, { owner: null }), away)
  await t.rejects(keys.rotate(issued.id, { owner: null, overlap: 0 }), away)
  await t.rejects(keys.list('alice'), away)
  // oxlint-disable-next-line prefer-promise-reject-errors -- what a store of the app may do
  for (const list of [() => Promise.reject(null), async () => [null] as never]) {
    const odd = await keyApp(t, keyOptions({ store: storeWith({ list }) }))
    await t.rejects(odd.keys.list('alice'), away)
  }
})
