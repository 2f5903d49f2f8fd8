// A real OpenID provider in a process of its own, which can be killed.
import { exportJWK, generateKeyPair } from 'jose'
import { startProvider } from '../../examples/demo/provider.js'

const { PROVIDER_PORT = '0', PROVIDER_SECRET = '' } = process.env

/** Each process has a key of its own. */
async function newKey(): Promise<object> {
  const { privateKey } = await generateKeyPair('ES256', { extractable: true })
  return { ...(await exportJWK(privateKey)), use: 'sig', alg: 'ES256' }
}

async function main(): Promise<void> {
  const redirectUris = ['127.0.0.1', 'localhost'].map(
    (host) => `http://${host}/login/corp/callback`,
  )
  const { issuer } = await startProvider(Number(PROVIDER_PORT), ['alice', 'bob'], {
    jwks: { keys: [await newKey()] },
    clients: [
      {
        client_id: 'shop',
        client_secret: PROVIDER_SECRET,
        redirect_uris: redirectUris,
        post_logout_redirect_uris: ['http://127.0.0.1/bye'],
        // Any port of a loopback address will do (RFC 8252 §7.3).
        application_type: 'native',
        id_token_signed_response_alg: 'ES256',
      },
    ],
    claims: { openid: ['sub'], profile: ['name'], email: ['email', 'email_verified'] },
    findAccount: (_context, sub) => ({
      accountId: sub,
      claims: () => ({ sub, name: `${sub} of Corp`, email: `${sub}@example.org` }),
    }),
  })
  process.send?.(issuer)
  process.once('disconnect', () => process.exit())
}

void main()
