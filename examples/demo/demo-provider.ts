import { generateKeyPairSync, randomBytes } from 'node:crypto'
import type { LoginProviderOptions } from 'fastify-authn'
import { startProvider } from './provider.js'
import { demoUsers, newcomer } from './people.js'

/** The client of the page at the provider, and where its logins come back to. */
const clientId = 'notes'
const callback = '/app/login/demo/callback'

/** The entry of the provider in the option `loginWith`, beside `users`. */
export type DemoProviderOptions = Omit<LoginProviderOptions, 'username' | 'link'>

/** The provider of the demo. */
export interface DemoProvider {
  readonly options: DemoProviderOptions
  close(): Promise<void>
}

/** People with an account at the provider: those of the demo, one whom it does not know yet, and a newcomer. */
const names = [...demoUsers.map(({ name }) => name), 'carol', newcomer]

/** Starts an OpenID provider, with a key and a client secret for this run. */
export async function startDemoProvider(): Promise<DemoProvider> {
  const clientSecret = randomBytes(32).toString('base64url')
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const { issuer, close } = await startProvider(0, names, {
    jwks: { keys: [{ ...privateKey.export({ format: 'jwk' }), use: 'sig', alg: 'ES256' }] },
    clients: [
      {
        client_id: clientId,
        client_secret: clientSecret,
        redirect_uris: ['127.0.0.1', 'localhost', '[::1]'].map(
          (host) => `http://${host}${callback}`,
        ),
        // Any port of these hosts will do (RFC 8252 §7.3): that of the demo is chosen later.
        application_type: 'native',
        id_token_signed_response_alg: 'ES256',
      },
    ],
    claims: { openid: ['sub'], email: ['email', 'email_verified'] },
    // In the ID token, so that the app has no second request to send.
    conformIdTokenClaims: false,
    findAccount: (_context, sub) => ({
      accountId: sub,
      claims: () => ({
        sub,
        ...(sub !== newcomer && { email: `${sub}@example.org`, email_verified: true }),
      }),
    }),
  })
  const options: DemoProviderOptions = {
    issuer,
    clientId,
    clientSecret,
    scope: 'openid email',
    // The page looks for `provider` in its address, and then for a session. For a link, it says another `returnTo`.
    returnTo: '/app/?provider=demo',
    failureTo: '/app/',
  }
  return { options, close }
}
