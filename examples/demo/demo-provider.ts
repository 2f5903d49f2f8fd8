import { generateKeyPairSync, randomBytes } from 'node:crypto'
import type { LoginProviderOptions } from 'fastify-authn'
import { startProvider } from './provider.js'
import { addNewcomer, demoUsers, newcomer } from './users.js'
import type { Database } from './database.js'

/** The client of the page at the provider, and where its logins come back to. */
const clientId = 'notes'
const callback = '/app/login/demo/callback'

/** The provider of the demo, and the option `loginWith` for it. */
export interface DemoProvider {
  readonly options: LoginProviderOptions
  close(): Promise<void>
}

/** Starts an OpenID provider that knows the demo's users and one more, with a key and a client secret for this run. */
export async function startDemoProvider(database: Database): Promise<DemoProvider> {
  const clientSecret = randomBytes(32).toString('base64url')
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const names = [...demoUsers.map(({ name }) => name), newcomer]
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
  })
  const options: LoginProviderOptions = {
    issuer,
    clientId,
    clientSecret,
    scope: 'openid',
    // This provider is ours, the only one, and its `sub` is the name of our user, which it gives to no one else. With any
    // other provider, an app keeps a table of `iss` and `sub`: see docs/guides/login-with.md.
    async username({ sub }) {
      if (sub === newcomer) await addNewcomer(database)
      return sub
    },
    // The page looks for `provider` in its address, and then for a session.
    returnTo: '/app/?provider=demo',
    failureTo: '/app/',
  }
  return { options, close }
}
