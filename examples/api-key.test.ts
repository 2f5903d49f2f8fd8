import bcrypt from 'bcrypt'
import t, { type Test } from 'tap'
import { buildApp } from './api-key.js'
import { bearer, login } from './support/expected.js'

const users = new Map(
  ['alice', 'bob'].map((username, at) => {
    const password = bcrypt.hashSync(`${username}-1865`, 4)
    return [username, { id: at + 1, username, password }] as const
  }),
)

async function setUp(t: Test) {
  const app = await buildApp({
    findByUsername: (name) =>
      users.get(String(name)) ?? [...users.values()].find(({ id }) => id === name),
  })
  t.teardown(() => app.close())
  const logIn = (name: string) => login(t, app, '/login', { name, password: `${name}-1865` })
  const [alice, bob] = await Promise.all([logIn('alice'), logIn('bob')])
  const make = async (payload: object, headers = alice) => {
    const response = await app.inject({ method: 'POST', url: '/my/keys', headers, payload })
    return {
      status: response.statusCode,
      headers: response.headers,
      ...response.json<{ id: string; key: string }>(),
    }
  }
  return { app, alice, bob, make }
}

const good = { name: 'ci', scopes: ['notes:read'], days: 30 }

t.test('a key is made, used, rotated and revoked by its owner', async (t) => {
  const { app, alice, bob, make } = await setUp(t)
  const made = await make(good)
  t.match(made, { status: 201, key: /^notes_test_/, headers: { 'cache-control': 'no-store' } })
  const read = async (headers: Record<string, string>) => {
    const { statusCode, body } = await app.inject({ url: '/notes', headers })
    return [statusCode, JSON.parse(body)]
  }
  const welcome = [200, { reader: 'alice', key: 'ci' }]
  t.strictSame(await read(bearer(made.key)), welcome)
  t.strictSame(await read({ 'x-api-key': made.key }), welcome)

  const listed = await app.inject({ url: '/my/keys', headers: alice })
  t.match(listed.json(), [{ id: made.id, name: 'ci', scopes: ['notes:read'], revokedAt: null }])
  t.notMatch(listed.body, made.key)
  t.strictSame((await app.inject({ url: '/my/keys', headers: bob })).json(), [])

  for (const headers of [bob, bearer(made.key)]) {
    const url = `/my/keys/${made.id}`
    const expected = headers === bob ? 404 : 401
    t.equal((await app.inject({ method: 'DELETE', url, headers })).statusCode, expected)
    t.equal(
      (await app.inject({ method: 'POST', url: `${url}/rotate`, headers })).statusCode,
      expected,
    )
  }
  const rotated = await app.inject({
    method: 'POST',
    url: `/my/keys/${made.id}/rotate`,
    headers: alice,
  })
  const next = rotated.json<{ id: string; key: string }>()
  t.equal(rotated.statusCode, 201)
  for (const key of [made.key, next.key]) t.strictSame(await read(bearer(key)), welcome)
  const url = `/my/keys/${next.id}`
  t.equal((await app.inject({ method: 'DELETE', url, headers: alice })).statusCode, 204)
  t.equal((await app.inject({ method: 'DELETE', url, headers: alice })).statusCode, 404)
  t.equal((await read(bearer(next.key)))[0], 401)
})

t.test('users cannot make keys for others, with other rights or a longer life', async (t) => {
  const { app, make } = await setUp(t)
  for (const wrong of [
    { ...good, owner: 'bob' },
    { ...good, scopes: ['admin'] },
    { ...good, days: 366 },
    { ...good, name: '' },
    { name: 'ci', days: 1 },
  ]) {
    const { status, id } = await make(wrong)
    t.ok(status === 400 || (status === 201 && 'owner' in wrong), `${status}`)
    if (status === 201) t.match((await app.authn.apiKeys.list(2)) ?? [], [], id)
  }
  const key = await make({ ...good, scopes: [] })
  t.equal((await app.inject({ url: '/notes', headers: bearer(key.key) })).statusCode, 403)
  t.equal((await app.inject({ method: 'POST', url: '/my/keys', payload: good })).statusCode, 401)
})
