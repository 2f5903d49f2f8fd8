import type { Test } from 'tap'
import { memoryApiKeys } from '../../lib/api-keys/index.js'
import type { AnyAuthnOptions } from '../../lib/index.js'
import { accountsOver, hash } from './accounts.js'
import { appWith, secret, type TestApp } from './app.js'
import { passkeysOver } from './passkeys.js'
import { startProvider } from './provider.js'
import { key } from './second-factor.js'

/** An app with every feature that has routes. */
export async function everyFeature(t: Test): Promise<TestApp> {
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
  return appWith(t, { ...options, accounts } as unknown as AnyAuthnOptions)
}
