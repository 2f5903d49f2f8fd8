// The recipe as its page tells it, and what an attacker would try.
import { randomBytes } from 'node:crypto'
import { Writable } from 'node:stream'
import bcrypt from 'bcrypt'
import t, { type Test } from 'tap'
import { auditImpersonation, buildApp, type AuditEntry, type Person } from './impersonation.js'

const password = 'the same of them all'
const hash = bcrypt.hashSync(password, 4)
const typ = 'impersonation+jwt'
const reason = 'ticket 42: a note is missing'

type Names = 'root' | 'ann' | 'alice' | 'bob'
const ids: Readonly<Record<Names, number>> = { root: 1, ann: 2, alice: 3, bob: 4 }

async function setUp(t: Test) {
  const people = new Map<number, Person>()
  const change = (name: Names, to: Partial<Person>): void => {
    const id = ids[name]
    people.set(id, { ...(people.get(id) as Person), ...to })
  }
  for (const [name, id] of Object.entries(ids) as [Names, number][]) {
    change(name, {
      id,
      email: `${name}@shop.example`,
      password: hash,
      role: id < 3 ? 'admin' : 'member',
      tokensValidAfter: null,
    })
  }
  const lines: { msg: string; user?: number; actor?: number; reason?: string }[] = []
  const stream = new Writable({
    write(chunk: Buffer, _encoding, done) {
      lines.push(JSON.parse(chunk.toString()) as (typeof lines)[number])
      done()
    },
  })
  const find = (email: string) => [...people.values()].find((person) => person.email === email)
  const app = await buildApp(
    randomBytes(64).toString('base64url'),
    { byId: async (id) => people.get(id), byEmail: async (email) => find(email) },
    { stream },
  )
  t.teardown(() => app.close())
  const send = async (method: 'GET' | 'POST', url: string, token?: string, payload?: object) => {
    const headers = token === undefined ? {} : { authorization: `Bearer ${token}` }
    const response = await app.inject({ method, url, headers, ...(payload && { payload }) })
    const body = (response.body === '' ? {} : JSON.parse(response.body)) as Record<string, unknown>
    return { status: response.statusCode, body }
  }
  const impersonate = (token: string | undefined, id: number | string) =>
    send('POST', `/users/${id}/impersonate`, token, { reason })
  const logIn = async (name: Names): Promise<string> => {
    const { body } = await send('POST', '/login', undefined, {
      email: `${name}@shop.example`,
      password,
    })
    return String(body.token)
  }
  const asAlice = async () => String((await impersonate(await logIn('root'), ids.alice)).body.token)
  const sign = (claims: Record<string, unknown>, header = { typ }): string =>
    String(app.jwtService.generateTokenWithClaims(claims, undefined, header))
  return { app, people, change, lines, send, impersonate, logIn, asAlice, sign }
}

t.test('an admin gets the view of a user, and both names are audited', async (t) => {
  const audited: AuditEntry[] = []
  t.teardown(auditImpersonation((entry) => audited.push(entry)))
  const { lines, send, impersonate, logIn } = await setUp(t)
  const root = await logIn('root')
  audited.length = 0
  const { status, body } = await impersonate(root, ids.alice)
  t.match({ status, body }, { status: 200, body: { token: String, expiresIn: 600 } })
  t.strictSame(Object.keys(body).toSorted(), ['expiresIn', 'token'], 'no refresh token')
  const both = { user: ids.alice, actor: ids.root }
  const found = lines.find((line) => line.reason === reason)
  t.match(found, both)

  const token = String(body.token)
  const claims = JSON.parse(
    Buffer.from(token.split('.')[1] ?? '', 'base64url').toString(),
  ) as Record<string, unknown>
  t.match(claims, { sub: ids.alice, act: { sub: ids.root } })
  t.notOk('sid' in claims)

  lines.length = 0
  t.match(await send('GET', '/me', token), {
    status: 200,
    body: { id: ids.alice, actor: { id: ids.root, email: 'root@shop.example' } },
  })
  t.match(lines.at(-1), { msg: 'request completed', ...both })
  t.equal((await send('GET', '/notes', token)).status, 200)
  lines.length = 0
  t.equal((await send('POST', '/notes', token)).status, 403, 'only the scope to read')
  const seen = lines.some((line) => line.user === both.user && line.actor === both.actor)
  t.ok(seen, 'the rejection too')
  t.strictSame(audited, [
    { ...both, request: 'GET /me', allowed: true },
    { ...both, request: 'GET /notes', allowed: true },
    { ...both, request: 'POST /notes', allowed: false },
  ])

  const own = await logIn('alice')
  t.match(await send('GET', '/me', own), { body: { id: ids.alice, actor: null } })
  t.equal((await send('POST', '/notes', own)).status, 200)
  t.equal((await send('GET', '/sessions', own)).status, 200)
  t.equal(audited.length, 3, 'requests of the user are no impersonations')
})

t.test('only admins may impersonate, and no other admin', async (t) => {
  const { app, send, impersonate, logIn, asAlice } = await setUp(t)
  const root = await logIn('root')
  t.equal((await impersonate(undefined, ids.alice)).status, 401)
  t.equal((await impersonate(await logIn('bob'), ids.alice)).status, 403)
  for (const id of [ids.ann, ids.root, 99]) {
    t.equal((await impersonate(root, id)).status, 403, `user ${id}`)
  }
  for (const id of ['alice', '3.5', '%00']) {
    t.equal((await impersonate(root, id)).status, 400, id)
  }
  const url = `/users/${ids.alice}/impersonate`
  t.equal((await send('POST', url, root, { reason: '' })).status, 400, 'no reason')
  t.equal((await send('GET', url, root)).status, 404)
  const token = await asAlice()
  t.equal((await impersonate(token, ids.bob)).status, 401, 'not from within')
  const page = { method: 'POST', url, headers: { authorization: `Bearer ${root}` } } as const
  const response = await app.inject({ ...page, payload: { reason } })
  t.equal(response.headers['cache-control'], 'no-store')
})

t.test('an impersonation token gets a 401 for sessions, logout and refresh', async (t) => {
  const { app, send, asAlice } = await setUp(t)
  const token = await asAlice()
  t.equal((await send('GET', '/sessions', token)).status, 401)
  t.equal((await send('POST', '/logout', token, {})).status, 401)
  t.equal((await send('POST', '/logout', token, { everywhere: true })).status, 401)
  t.equal((await send('POST', '/login/refresh', token, { refreshToken: token })).status, 401)
  t.strictSame(await app.authn.sessions.list(ids.alice), [])
})

t.test('impersonation expires, and ends with the rights of the admin', async (t) => {
  const me = async (changes: Parameters<Awaited<ReturnType<typeof setUp>>['change']>) => {
    const { change, send, asAlice } = await setUp(t)
    const token = await asAlice()
    t.equal((await send('GET', '/me', token)).status, 200)
    change(...changes)
    return (await send('GET', '/me', token)).status
  }
  t.equal(await me(['root', { role: 'member' }]), 401, 'when the admin is none any more')
  const later = new Date(Date.now() + 60_000)
  t.equal(await me(['root', { tokensValidAfter: later }]), 401, 'when the admin is logged out')
  t.equal(await me(['alice', { tokensValidAfter: later }]), 401, 'when the user is logged out')
  t.equal(await me(['alice', { role: 'admin' }]), 401, 'when the user becomes an admin')
  t.equal(await me(['bob', { role: 'admin' }]), 200, 'and not for others')

  const { people, send, asAlice, sign } = await setUp(t)
  const expired = { sub: ids.alice, act: { sub: ids.root }, exp: Math.floor(Date.now() / 1000) }
  t.equal((await send('GET', '/me', sign(expired))).status, 401)
  const token = await asAlice()
  people.delete(ids.root)
  t.equal((await send('GET', '/me', token)).status, 401, 'when the admin is gone')
})

t.test('tokens of other kinds are not accepted for impersonation', async (t) => {
  const { app, send, sign } = await setUp(t)
  const acts = [undefined, null, 'root', ids.root, [], {}, { sub: '1' }, { sub: 99 }, [ids.root]]
  for (const act of [...acts, { sub: ids.alice }, { sub: ids.bob }, { act: { sub: ids.root } }]) {
    const { status } = await send('GET', '/me', sign({ sub: ids.alice, act }))
    t.equal(status, 401, `act: ${JSON.stringify(act)}`)
  }
  const good = { sub: ids.alice, act: { sub: ids.root } }
  t.equal((await send('GET', '/me', sign(good))).status, 200)
  t.equal((await send('GET', '/me', sign(good, { typ: 'reset+jwt' }))).status, 401)
  t.equal((await send('GET', '/me', `${sign(good).slice(0, -3)}AAA`)).status, 401)
  // As an access token of the user, `act` says nothing: only the key of the app makes such tokens.
  const { status, body } = await send('GET', '/me', sign(good, { typ: 'JWT' }))
  t.match({ status, body }, { status: 200, body: { actor: null } })
  t.equal((await app.inject('/me')).statusCode, 401)
})
