import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Configuration, Provider } from 'oidc-provider'

/** An OpenID provider that runs in this process. */
export interface RunningProvider {
  /** Its identifier, which is also its address. */
  readonly issuer: string
  close(): Promise<void>
}

/**
 * Starts an OpenID provider on this machine, where people choose who they are, without a password. It stands for Google,
 * Keycloak or any other one.
 *
 * @param port - 0 for any free one
 * @param people - the `sub` of each user
 * @param configuration - at least `clients`
 */
export async function startProvider(
  port: number,
  people: readonly string[],
  configuration: Configuration,
): Promise<RunningProvider> {
  const server = createServer()
  server.listen(port, '127.0.0.1')
  await once(server, 'listening')
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const provider = await makeProvider(issuer, {
    findAccount: (_context, sub) => ({ accountId: sub, claims: () => ({ sub }) }),
    ...configuration,
    features: { ...configuration.features, devInteractions: { enabled: false } },
    interactions: { url: (_context, { uid }) => `/choose/${uid}` },
    cookies: { keys: ['this provider protects nothing'] },
  })
  const answer = provider.callback()
  server.on('request', (request, response) => {
    const work = request.url?.startsWith('/choose/')
      ? choose(provider, people, request, response)
      : answer(request, response)
    // As when someone goes back to the page after the login.
    work.catch(() => response.writeHead(400).end('This login has ended. Begin again in the app.\n'))
  })
  return {
    issuer,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

async function makeProvider(issuer: string, configuration: Configuration): Promise<Provider> {
  const { warn } = console
  // It says what a provider for real users needs, such as a database.
  console.warn = () => undefined
  try {
    const { Provider } = await import('oidc-provider')
    return new Provider(issuer, configuration)
  } finally {
    console.warn = warn
  }
}

/** The page where the user chooses, and what becomes of that. */
async function choose(
  provider: Provider,
  people: readonly string[],
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const { params } = await provider.interactionDetails(request, response)
  if (request.method !== 'POST') {
    response.writeHead(200, headers).end(pageOf(people))
    return
  }
  let body = ''
  for await (const chunk of request) body += chunk
  const accountId = new URLSearchParams(body).get('who') ?? ''
  if (!people.includes(accountId)) {
    await provider.interactionFinished(request, response, { error: 'access_denied' })
    return
  }
  // What the app may know of the user: who chooses a name here agrees to that.
  const grant = new provider.Grant({ accountId, clientId: String(params.client_id) })
  grant.addOIDCScope(String(params.scope))
  // RFC 8707, for access tokens of that resource
  if (typeof params.resource === 'string') {
    grant.addResourceScope(params.resource, String(params.scope))
  }
  const consent = { grantId: await grant.save() }
  const result = { login: { accountId }, consent }
  await provider.interactionFinished(request, response, result)
}

/** Without `form-action`: after the form, the browser is led on to the app. */
const headers = {
  'content-type': 'text/html; charset=utf-8',
  'content-security-policy':
    "default-src 'none'; style-src 'unsafe-inline'; img-src data:; frame-ancestors 'none'",
}

const pageOf = (people: readonly string[]): string => `<!doctype html>
<html lang="en">
  <meta charset="utf-8" />
  <meta name="viewport" content="width=device-width, initial-scale=1" />
  <title>Demo provider</title>
  <link rel="icon" href="data:," />
  <style>
    :root { color-scheme: light dark; }
    body { display: grid; min-height: 100vh; margin: 0; place-items: center; font: 1rem/1.5 system-ui, sans-serif;
      color: light-dark(#1f2430, #e8eaf0); background: light-dark(#eef1f8, #14161c); }
    form { display: grid; gap: 0.75rem; width: min(20rem, calc(100vw - 2rem)); padding: 1.5rem; box-sizing: border-box;
      background: light-dark(#fff, #1f222b); border: 1px solid light-dark(#d8deea, #383d4a); border-radius: 0.625rem; }
    h1, p { margin: 0; }
    h1 { font-size: 1.25rem; }
    p { font-size: 0.9rem; color: light-dark(#5a6376, #9fa7b8); }
    button { padding: 0.5rem; font: inherit; font-weight: 600; color: light-dark(#fff, #10162a);
      background: light-dark(#2b4fc2, #9db4ff); border: 1px solid transparent; border-radius: 0.375rem; cursor: pointer; }
    button[value=''] { font-weight: normal; color: inherit; background: none; border-color: light-dark(#d8deea, #383d4a); }
    button:focus-visible { outline: 2px solid light-dark(#2b4fc2, #9db4ff); outline-offset: 2px; }
  </style>
  <main>
    <form method="post">
      <h1>Demo provider</h1>
      <p>This is another server than the app. Choose who you are: it asks for no password.</p>
      ${people.map((name) => `<button name="who" value="${name}">${name}</button>`).join('\n      ')}
      <button name="who" value="">Cancel</button>
    </form>
  </main>
</html>
`
