// Also holds lib/issuers/authenticator.ts, lib/issuers/judge.ts, lib/issuers/user.ts, lib/issuers/user-finders.ts,
// lib/issuers/token.ts and lib/issuers/picker.ts.
import t, { type Test } from 'tap'
import { appWith, bearer, type TestApp } from '../helpers/app.js'
import {
  isRefusal,
  isWelcome,
  probe,
  texts,
  tokenChallenge,
  type AnyResponse,
} from '../helpers/flows.js'
import { startIssuer, type TestIssuer } from '../helpers/issuer.js'
import type { AuthnOptions, IssuerOptions } from '../../lib/index.js'

const invalid = { error: texts.jwtInvalid, challenge: tokenChallenge('The token is invalid') }

async function setting(
  t: Test,
  issuer: TestIssuer,
  more: Partial<IssuerOptions> = {},
  options: AuthnOptions = {},
): Promise<{ app: TestApp; get: (token: string) => Promise<AnyResponse> }> {
  const { handler } = probe()
  const app = await appWith(
    t,
    { issuers: { corp: issuer.options(more) }, ...options },
    (app) => void app.get('/', { config: { auth: { use: 'corp' } } }, handler),
  )
  return { app, get: (token) => app.inject({ url: '/', headers: bearer(token) }) }
}

t.test('a token of an issuer lets its user in', async (t) => {
  const issuer = await startIssuer(t)
  const { get, app } = await setting(t, issuer)
  isWelcome(t, await get(issuer.token()), 'alice')
  isRefusal(t, await get(issuer.token({ header: { kid: 'two' } })), invalid)
  isRefusal(t, await app.inject('/'), {
    error: texts.none,
    challenge: 'Bearer realm="Authorization required"',
  })
  t.strictSame(app.authn.stats().issuers.corp, { keys: 1, fetches: 1, failures: 0, age: 0 })
})
