import type { Reply } from '../support/connection.js'
import { badTokens, tokensOf } from './tokens.js'
import { startServer, type Server } from './server.js'
import { headersOf, type Variant } from './variants.js'

/** How many servers are started at once: more of them would start slowly on few cores. */
const atOnce = 4

/**
 * Makes sure that all do the same work: the right user for good credentials, and a rejection of everything
 * else.
 *
 * @throws naming the variant and what it did
 */
export async function checkAll(variants: readonly Variant[]): Promise<void> {
  const waiting = [...variants]
  const work = async (): Promise<void> => {
    for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) await checkOne(next)
  }
  await Promise.all(Array.from({ length: atOnce }, work))
}

async function checkOne(variant: Variant): Promise<void> {
  const server = await startServer(variant.app, { node: variant.node, pinned: false })
  await check(variant, server)
  await server.end()
}

/** Checks a server that runs already. */
export async function check(variant: Variant, { port }: Server): Promise<void> {
  const ask = (path: string, header: string | null): Promise<Reply> =>
    replyOf(`http://127.0.0.1:${port}${path}`, header)
  const good = await ask(variant.path, variant.credentials()[0] ?? null)
  expect(variant, `${variant.path} with good credentials`, good, isUser)
  for (const [name, header] of Object.entries(badHeaders(variant))) {
    expect(variant, `credentials ${name}`, await ask('/protected', header), isRefusal)
  }
}

async function replyOf(url: string, credentials: string | null): Promise<Reply> {
  const response = await fetch(url, { headers: headersOf(credentials) })
  return { status: response.status, body: await response.text() }
}

/** What must be refused, whatever route the variant measures. */
function badHeaders({ algorithm, app, credentials }: Variant): Record<string, string | null> {
  const headers: Record<string, string | null> = {}
  const [good = null] = credentials()
  if (good?.startsWith('Cookie: ')) {
    // The beginning of each signature.
    headers['that are forged'] = good.replaceAll(/\.[\w%]{4}(?=[\w%-]{20})/g, '.AAAA')
  }
  if (good?.startsWith('Basic'))
    headers['that are wrong'] = `Basic ${btoa('user0:a wrong password')}`
  else {
    for (const [name, token] of Object.entries(badTokens(algorithm))) {
      headers[name] = `Bearer ${token}`
    }
    const { scope } = (app.settings.mark ?? {}) as { readonly scope?: unknown }
    if (scope !== undefined) headers['without the scope'] = `Bearer ${tokensOf(algorithm)()}`
  }
  if (app.settings.mark !== 'optional') headers['that are missing'] = null
  return headers
}

const isUser = ({ status, body }: Reply): boolean =>
  status === 200 && (JSON.parse(body) as { name?: string }).name === 'user0'

const isRefusal = ({ status }: Reply): boolean => status === 401 || status === 403

function expect(
  { name }: Variant,
  what: string,
  reply: Reply,
  isRight: (reply: Reply) => boolean,
): void {
  if (isRight(reply)) return
  throw new Error(`${name}, ${what}: ${JSON.stringify(reply)}`)
}
