// Who may call which route. What holds for all routes of the plugin is in `test/plugin-routes.test.ts`.
import t from 'tap'
import { memoryApiKeys } from '../../lib/api-keys/index.js'
import { accountsApp, answerOf, newPassword, password } from '../helpers/accounts.js'
import { basic, bearer } from '../helpers/app.js'
import { startIssuer } from '../helpers/issuer.js'

const alice = 'alice@example.com'
const own = [
  '/password/change',
  '/password/set',
  '/email/change',
  '/email/confirm',
  '/account/delete',
]
const body = {
  email: 'dora@example.com',
  password: newPassword,
  currentPassword: password,
}
/** With a link, which `/password/change` takes in place of the current password. */
const withToken = { ...body, token: 'a.b.c' }

t.test('API keys and tokens of issuers are no session of a user', async (t) => {
  const issuer = await startIssuer(t)
  const theirs = {
    ...issuer.options(),
    user: () => ({ id: 1, email: alice }),
  }
  const apiKeys = { store: memoryApiKeys(), prefix: 'shop' }
  const setting = await accountsApp(t, {}, { issuers: { theirs }, apiKeys })
  const { app, send, logIn, table, mails, me } = setting
  const headers = await logIn()
  const { key } = await app.authn.apiKeys.issue({
    owner: '1',
    name: 'job',
    scopes: [],
    expiresAt: null,
  })
  const rows: [title: string, headers: Record<string, string>, answer: string][] = [
    ['an API key', bearer(key), '401 ERR_AUTH_API_KEY_NOT_ACCEPTED'],
    ['a token of an issuer', bearer(issuer.token()), '401 ERR_AUTH_CREDENTIALS_NOT_ACCEPTED'],
  ]
  const before = JSON.stringify(table)
  for (const [title, headers, answer] of rows) {
    for (const url of own) {
      const response = await setting.post(url, withToken, headers)
      t.equal(answerOf(response), answer, `${title}: ${url}`)
      t.match(response.headers, { 'cache-control': 'no-store' })
      t.equal(response.statusCode === 401, 'www-authenticate' in response.headers)
    }
  }
  t.equal(JSON.stringify(table), before)
  t.strictSame(await mails(), [])
  t.equal(await me(headers), 200, 'nothing was revoked')
  t.equal(await send('/email/change', body, headers), '202 {}')
})

t.test('the open routes ignore credentials, whatever they are', async (t) => {
  const { send } = await accountsApp(t)
  for (const headers of [bearer('a.b.c'), basic('mallory', 'x'), { authorization: '?' }]) {
    t.equal(await send('/sign-up', body, headers), '202 {}')
    t.equal(await send('/password/reset', withToken, headers), '400 ERR_AUTH_LINK_INVALID')
  }
})

t.test('without cookies, pages of other sites may call the open ones', async (t) => {
  const { send } = await accountsApp(t)
  t.equal(await send('/sign-up', body, { 'sec-fetch-site': 'cross-site' }), '202 {}')
})
