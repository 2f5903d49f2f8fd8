// program: examples-mcp
// What the MCP server of examples/mcp says to each request, as clients see it behind a proxy.
import type { ServerResponse } from 'node:http'
import t, { type Test } from 'tap'
import { bearer } from '../helpers/examples.js'
import { setUp, type Running } from '../helpers/mcp.js'

const path = '/.well-known/oauth-protected-resource/mcp'
const text = 'application/json, text/event-stream'
const call = (name: string, more: object = {}): object => ({
  jsonrpc: '2.0',
  id: 1,
  method: 'tools/call',
  params: { name, arguments: { id: '1' }, ...more },
})
/** Of the protocol of 2026-07-28. */
const version = '2026-07-28'
const meta = {
  'io.modelcontextprotocol/protocolVersion': version,
  'io.modelcontextprotocol/clientInfo': { name: 'test', version: '1' },
  'io.modelcontextprotocol/clientCapabilities': {},
}

type Send = (body: object, headers?: Record<string, string>, query?: string) => Promise<Response>

/** A server, and requests to it. */
async function server(t: Test, tokens?: 'opaque'): Promise<Running & { send: Send }> {
  const running = await setUp(t, tokens)
  const send: Send = (body, headers, query = '') =>
    fetch(`${running.url}${query}`, {
      method: 'POST',
      headers: { accept: text, 'content-type': 'application/json', ...headers },
      body: JSON.stringify(body),
    })
  return { ...running, send }
}

const challenge = (origin: string, error = ''): string =>
  `Bearer realm="Authorization required", scope="notes:read", resource_metadata="${origin}${path}"${error}`

/** A 401 or 403 that leads a client to the metadata. */
async function isChallenge(
  t: Test,
  response: Response,
  status: number,
  expected: RegExp | string,
): Promise<void> {
  t.equal(response.status, status)
  t.match(response.headers.get('www-authenticate'), expected)
  t.equal(response.headers.get('cache-control'), 'no-store')
  t.match(await response.json(), { error: String })
}

t.test('the metadata name the address of the proxy, whatever a client sends', async (t) => {
  const { url, issuer } = await server(t)
  for (const place of [path, '/.well-known/oauth-protected-resource']) {
    const response = await fetch(new URL(place, url), {
      headers: { 'x-forwarded-host': 'evil.example', 'x-forwarded-proto': 'https' },
    })
    t.strictSame(await response.json(), {
      resource: url.href,
      authorization_servers: [issuer],
      scopes_supported: ['notes:read', 'notes:write'],
      bearer_methods_supported: ['header'],
      resource_name: 'Notes',
    })
  }
})

t.test('without a valid token for this resource, every request is a 401', async (t) => {
  const { url, app, send, token } = await server(t)
  const good = await token('notes:read')
  const none = challenge(url.origin)
  await isChallenge(t, await send(call('list_notes')), 401, none)
  await isChallenge(t, await send(call('list_notes'), { authorization: 'Bearer' }), 401, none)
  await isChallenge(t, await send(call('list_notes'), {}, `?access_token=${good}`), 401, none)
  for (const method of ['GET', 'POST', 'DELETE']) {
    const headers = { accept: text, 'mcp-session-id': 'known' }
    await isChallenge(t, await fetch(url, { method, headers }), 401, none)
  }
  const foreign = await token('notes:read', 'https://other.example/mcp')
  const wrong = ['Bearer a b', 'Bearer \u{e9}', `Bearer ${good}x`, `Bearer ${foreign}`]
  for (const authorization of wrong) {
    const response = await send(call('list_notes'), { authorization })
    await isChallenge(t, response, 401, /^Bearer .*error="invalid_token".*/)
  }
  const answered = await send(call('list_notes'), bearer(good))
  t.equal(answered.status, 200)
  t.equal(app.authn.resource?.identifier, url.href)
})

t.test('a missing scope is a 403 for the route, and for one tool', async (t) => {
  const { url, send, token, notes } = await server(t)
  const insufficient = /^Bearer .*error="insufficient_scope"/
  const none = await send(call('list_notes'), bearer(await token('')))
  await isChallenge(t, none, 403, insufficient)
  t.match(none.headers.get('www-authenticate'), / scope="notes:read"/)
  t.match(none.headers.get('www-authenticate'), ` resource_metadata="${url.origin}${path}"`)

  const reader = bearer(await token('notes:read'))
  const requests = [
    call('delete_note'),
    [call('list_notes'), call('delete_note')],
    call('delete_note', { _meta: meta }),
  ]
  for (const request of requests) {
    const modern = JSON.stringify(request).includes(version) && {
      'mcp-protocol-version': version,
      'mcp-method': 'tools/call',
      'mcp-name': 'delete_note',
    }
    const rejected = await send(request, { ...reader, ...modern })
    t.equal(rejected.status, 403)
    t.match(rejected.headers.get('www-authenticate'), insufficient)
    t.match(rejected.headers.get('www-authenticate'), / scope="notes:write"/)
    t.match(rejected.headers.get('www-authenticate'), ` resource_metadata="${url.origin}${path}"`)
  }
  t.equal(notes.size, 0, 'no tool has run')
})

t.test(
  'pages of other sites get a 403 with a token or without, and read the metadata',
  async (t) => {
    const { url, send, token } = await server(t)
    const good = bearer(await token('notes:read'))
    for (const origin of ['https://evil.example', 'null', 'https://app.example.evil.example']) {
      for (const headers of [{}, good]) {
        const response = await send(call('list_notes'), { ...headers, origin })
        t.equal(response.status, 403, origin)
        t.match(await response.json(), { error: { code: -32_000 } })
      }
      for (const [method, status] of [['GET', 200] as const, ['OPTIONS', 204] as const]) {
        const metadata = await fetch(new URL(path, url), { method, headers: { origin } })
        t.equal(metadata.status, status, method)
        t.equal(metadata.headers.get('access-control-allow-origin'), '*')
      }
    }
    const origin = 'https://app.example'
    for (const [headers, status] of [[{}, 401] as const, [good, 200] as const]) {
      const allowed = await send(call('list_notes'), { ...headers, origin })
      t.equal(allowed.status, status)
      t.equal(allowed.headers.get('access-control-allow-origin'), origin)
      t.equal(allowed.headers.get('access-control-expose-headers'), 'WWW-Authenticate')
    }
  },
)

t.test(
  'answers are streams where clients ask for them, and do not keep the app from closing',
  async (t) => {
    const { app, send, token } = await server(t)
    const good = bearer(await token('notes:read'))
    const answered = await send(call('list_notes'), good)
    t.equal(answered.headers.get('content-type'), 'text/event-stream')
    t.match(await answered.text(), /^event: message\ndata: {.*of client:robot/)

    const listen = {
      jsonrpc: '2.0',
      id: 2,
      method: 'subscriptions/listen',
      params: { _meta: meta, notifications: { toolsListChanged: true } },
    }
    const headers = { 'mcp-protocol-version': version, 'mcp-method': 'subscriptions/listen' }
    t.equal((await send(listen, headers)).status, 401)
    const stream = await send(listen, { ...good, ...headers })
    t.equal(stream.headers.get('content-type'), 'text/event-stream')
    await app.close()
    t.match(await stream.text(), /subscriptions/)
  },
)

t.test('tools get scopes, client and expiry, and never the token', async (t) => {
  const { app, url, send, token } = await server(t)
  const seen: unknown[] = []
  app.server.on('request', (request: { auth?: unknown }, response: ServerResponse) =>
    response.on('finish', () => seen.push(request.auth)),
  )
  const good = await token('notes:read notes:write')
  t.equal((await send(call('list_notes'), bearer(good))).status, 200)
  t.match(seen, [
    {
      token: '',
      clientId: 'robot',
      scopes: ['notes:read', 'notes:write'],
      expiresAt: Number,
      resourceMetadataUrl: `${url.origin}${path}`,
    },
  ])
  t.notMatch(JSON.stringify(seen), good)
})

t.test('opaque: a revoked token is a 401, as is one for another resource', async (t) => {
  const { send, token, revoke } = await server(t, 'opaque')
  const good = await token('notes:read')
  t.equal((await send(call('list_notes'), bearer(good))).status, 200)
  const foreign = await token('notes:read', 'https://other.example/mcp')
  const invalid = /^Bearer .*error="invalid_token"/
  await isChallenge(t, await send(call('list_notes'), bearer(foreign)), 401, invalid)
  await revoke(good)
  await isChallenge(t, await send(call('list_notes'), bearer(good)), 401, invalid)
})
