// The option `apiKeys.user`: owners of keys who are no users with a login.
import t from 'tap'
import { AuthenticationError } from '../../lib/index.js'
import { bearer } from '../helpers/app.js'
import { job, keyApp, keyOptions } from '../helpers/api-keys.js'

/** Customers by the owner of their keys. */
const customers: Readonly<Record<string, () => unknown>> = {
  alice: () => ({ name: 'Alice & Sons' }),
  later: async () => ({ name: 'Later Inc.' }),
  gone: () => null,
  nothing: async () => undefined,
  blocked: () => {
    throw new AuthenticationError('This customer is blocked.')
  },
  broken: () => {
    throw new Error('database')
  },
  rejected: () => Promise.reject(new Error('database')),
  rows: () => [{ name: 'alice' }],
  string: () => 'alice',
  slow: () => new Promise(() => undefined),
}
const user = (owner: string | number) => customers[owner]?.() as { name: string } | null

t.test('apiKeys.user finds the owner of a key instead of the user service', async (t) => {
  const options = keyOptions({ user })
  const { get, keys, issued } = await keyApp(t, { ...options, userServiceTimeout: 0.05 })
  t.match(await get('/notes', bearer(issued.key)), {
    status: 200,
    body: { user: 'Alice & Sons', apiKey: { owner: 'alice' } },
  })
  for (const [owner, status] of Object.entries({
    later: 200,
    gone: 401,
    nothing: 401,
    blocked: 401,
    broken: 500,
    rejected: 500,
    rows: 500,
    string: 500,
    slow: 503,
  })) {
    const { key } = await keys.issue({ ...job, owner })
    t.equal((await get('/apiKey', bearer(key))).status, status, owner)
    if (status !== 401) continue
    t.strictSame((await get('/try', bearer(key))).body, { user: null, apiKey: null }, owner)
  }
  t.strictSame(options.userService.asked, [], 'the user service was not asked')
})

t.test('with apiKeys.user an app needs no user service', async (t) => {
  const { userService: _, jwt: __, ...options } = keyOptions({ user })
  const { app, get, issued } = await keyApp(t, options)
  t.equal((await get('/apiKey', bearer(issued.key))).status, 200)
  t.strictSame(app.authn.authenticators, ['apiKey'])
})

t.test('apiKeys.user gets the owner as issued, and the request with its key', async (t) => {
  const seen: unknown[] = []
  const options = keyOptions({
    user(owner, { extra, url }) {
      seen.push(owner, extra.apiKey?.name, url)
      return { name: 'seven' }
    },
  })
  const { get, keys } = await keyApp(t, options)
  const { key } = await keys.issue({ ...job, owner: 7 })
  t.match(await get('/apiKey', bearer(key)), { status: 200, body: { user: 'seven' } })
  t.strictSame(seen, [7, 'job', '/apiKey'])
})
