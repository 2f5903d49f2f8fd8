// program: small
// What events call the routes of the plugin.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { memoryApiKeys } from '../lib/api-keys/index.js'
import type { AnyAuthnOptions } from '../lib/index.js'
import { accountsOver, hash } from './helpers/accounts.js'
import { appWith, bearer, secret } from './helpers/app.js'
import { passkeysOver } from './helpers/passkeys.js'
import { root } from './helpers/project.js'
import { startProvider } from './helpers/provider.js'
import { key } from './helpers/second-factor.js'
import { eventsOf } from './helpers/sessions.js'

/** The names in the list of the page, without the one for requests to routes of the app. */
const page = readFileSync(join(root, 'docs/reference/events.md'), 'utf8')
const [, list = ''] =
  /\n- `authenticator` is[^]*?((?:`[\w-]+`(?:, | or )?)+) for the routes of the plugin/.exec(
    page,
  ) ?? []
const documented = [...list.matchAll(/`([\w-]+)`/g)].map(([, name]) => name)

t.test('requests of other sites are reported under a documented name, at each route', async (t) => {
  t.equal(documented.length, 7)
  const provider = await startProvider(t)
  const table = [{ id: 1, email: 'alice@example.com', password: hash, secondFactor: null }]
  const options = {
    userService: { findByUsername: accountsOver(table).findByUsername },
    jwt: { secret, publish: false },
    login: { usernameField: 'email', subject: (user: object) => (user as { id: number }).id },
    sessions: true,
    cookies: { sameSite: 'lax' },
    accounts: {
      ...accountsOver(table),
      findByUsername: undefined,
      url: 'https://shop.example/account',
      sendMail: () => undefined,
    },
    secondFactor: { key, issuer: 'Shop', page: '/code', update: () => true },
    passkeys: { origin: 'https://shop.example', name: 'Shop', ...passkeysOver([]) },
    apiKeys: { prefix: 'shop', store: memoryApiKeys() },
    loginWith: {
      corp: {
        issuer: provider.url,
        clientId: 'a',
        clientSecret: 'b',
        username: () => null,
        link: () => true,
      },
    },
  }
  const { findByUsername: _, ...accounts } = options.accounts
  const app = await appWith(t, { ...options, accounts } as unknown as AnyAuthnOptions)
  const failures = eventsOf(t, 'failure')
  const posts = app.authn.routes().filter(({ methods }) => methods.includes('POST'))
  t.ok(posts.length > 20)
  const token = app.jwtService.generateToken(1)
  const headers = { 'sec-fetch-site': 'cross-site', origin: 'https://evil.example' }
  for (const { url } of posts) {
    for (const more of [{}, bearer(token), { cookie: `__Host-token=${token}` }]) {
      failures.length = 0
      const all = { ...headers, ...more, 'content-type': 'application/json' }
      const response = await app.inject({ method: 'POST', url, headers: all, payload: '[]' })
      t.ok(response.statusCode < 500, url)
      for (const { authenticator, accepts, registration } of failures) {
        const names = accepts.length > 0 ? accepts : documented
        t.ok(names.includes(authenticator), `${url}: ${authenticator}`)
        t.equal(registration, '/')
      }
    }
    const all = { ...headers, cookie: '__Host-token=a' }
    failures.length = 0
    await app.inject({ method: 'POST', url, headers: all })
    t.match(failures, [{ code: 'ERR_AUTH_CROSS_SITE' }], url)
  }
})
