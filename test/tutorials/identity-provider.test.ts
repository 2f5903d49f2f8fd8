// Follows docs/start/identity-provider.md, with npm `oidc-provider` where the page has Keycloak.
import { createServer, type IncomingMessage, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import Provider from 'oidc-provider'
import t, { type Test } from 'tap'
import { unlessFound } from '../helpers/programs.js'
import { follow } from '../helpers/tutorial.js'

/** At the path that Keycloak has. @returns its port */
async function startProvider(t: Test): Promise<number> {
  // It writes advice for its developer, such as to use https.
  t.intercept(console, 'info', { value: () => undefined })
  t.intercept(console, 'warn', { value: () => undefined })
  const mount = '/realms/notes'
  let answer: RequestListener | undefined
  const server = createServer(
    (request: IncomingMessage & { originalUrl?: string | undefined }, response) => {
      request.originalUrl = request.url
      request.url = String(request.url).replace(mount, '')
      answer?.(request, response)
    },
  )
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => server.close())
  const { port } = server.address() as AddressInfo
  const scope = 'notes:read notes:write'
  const provider = new Provider(`http://127.0.0.1:${port}${mount}`, {
    clients: [
      {
        client_id: 'notes-cli',
        client_secret: 'a secret for this tutorial',
        token_endpoint_auth_method: 'client_secret_post',
        grant_types: ['client_credentials'],
        redirect_uris: [],
        response_types: [],
      },
    ],
    scopes: scope.split(' '),
    features: {
      devInteractions: { enabled: false },
      clientCredentials: { enabled: true },
      resourceIndicators: {
        enabled: true,
        defaultResource: () => 'urn:notes-api',
        getResourceServerInfo: () => ({ scope, audience: 'notes-api', accessTokenFormat: 'jwt' }),
      },
    },
  })
  answer = provider.callback()
  return port
}

t.test(
  'following docs/start/identity-provider.md gives an app that answers as the page says',
  { skip: unlessFound('curl') },
  async (t) => {
    const ports = { 8080: await startProvider(t) }
    await follow(t, ['docs/start/identity-provider.md'], { ports })
  },
)
