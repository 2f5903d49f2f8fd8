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

/** People with an account at the provider: those of the demo, one whom no user has connected yet, and a newcomer. */
const names = [...demoUsers.map(({ name }) => name), 'carol', newcomer]

/** Starts an OpenID provider, with a key and a client secret for this run. */
export async function startDemoProvider(database: Database): Promise<DemoProvider> {
  await database.query(
    `insert into demo_identities select name, id from demo_users where name = any($1)
     on conflict do nothing`,
    [demoUsers.map(({ name }) => name)],
  )
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
  })
  async function nameOf(subject: string): Promise<string | undefined> {
    const [user] = await database.query<{ name: string }>(
      'select name from demo_users join demo_identities on user_id = id where subject = $1',
      [subject],
    )
    return user?.name
  }
  const options: LoginProviderOptions = {
    issuer,
    clientId,
    clientSecret,
    scope: 'openid',
    // With more than one provider, the table also has a column for `iss`: see docs/guides/login-with.md.
    async username({ sub }) {
      const known = await nameOf(sub)
      if (known !== undefined || sub !== newcomer) return known
      await addNewcomer(database)
      return nameOf(sub)
    },
    // For users who are logged in, and have asked for it. An account never goes from one user to another.
    async link({ sub }, user) {
      const linked = await database.query(
        `insert into demo_identities values ($1, $2)
         on conflict (subject) do update set user_id = excluded.user_id
         where demo_identities.user_id = excluded.user_id returning subject`,
        [sub, user.id],
      )
      return linked.length > 0
    },
    // The page looks for `provider` in its address, and then for a session. For a link, it says another `returnTo`.
    returnTo: '/app/?provider=demo',
    failureTo: '/app/',
  }
  return { options, close }
}
