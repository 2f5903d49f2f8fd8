// A shop whose users have second factors and passkeys, as pages see it.
import type { AuthnOptions } from '../../lib/index.js'
import { hash, password } from './accounts.js'
import { secret, type TestApp } from './app.js'
import { passkeysOver, type StoredPasskey } from './passkeys.js'
import { email, factorsOver, key, type FactorUser } from './second-factor.js'

export const alice = { email, password }
export const bob = { email: 'bob@example.com', password }

/** What a shop at an origin needs, and its tables. */
export function shopOptions(origin: string) {
  const users: FactorUser[] = [
    { id: 1, ...alice, password: hash, secondFactor: null },
    { id: 2, ...bob, password: hash, secondFactor: null },
  ]
  const table: StoredPasskey[] = []
  const { findByUsername, update } = factorsOver(users)
  const options = {
    userService: { findByUsername },
    jwt: { secret },
    login: { usernameField: 'email', subject: (user: object) => (user as FactorUser).id },
    sessions: true,
    throttle: false,
    secondFactor: { key, issuer: 'Shop', update },
    passkeys: { origin, name: 'Shop', ...passkeysOver(table) },
  }
  return { users, table, options: options as unknown as Partial<AuthnOptions> }
}

/** A route that asks for two factors, of the last ten minutes. */
export function transferRoute(app: TestApp): void {
  const config = { auth: { mfa: true, fresh: 600 } } as const
  app.post('/transfers', { config }, ({ body }) => ({ sent: body }))
}
