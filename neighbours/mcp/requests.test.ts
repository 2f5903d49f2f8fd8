// What the MCP server of neighbours/mcp says to each request, as clients see it behind a proxy.
import assert from 'node:assert/strict'
import type { ServerResponse } from 'node:http'
import { test, type TestContext } from 'node:test'
import { setUp, type Running } from './setup.js'

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

const bearer = (token: string) => ({ authorization: `Bearer ${token}` })

type Send = (body: object, headers?: Record<string, string>, query?: string) => Promise<Response>

/** A server, and requests to it. */
async function server(t: TestContext, tokens?: 'opaque'): Promise<Running & { send: Send }> {
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

const challengeOf = ({ headers }: Response): string => headers.get('www-authenticate') ?? ''

/** A 401 or 403 that leads a client to the metadata. */
async function isChallenge(
  response: Response,
  status: number,
  expected: RegExp | string,
): Promise<void> {
  assert.equal(response.status, status)
  const found = challengeOf(response)
  if (typeof expected === 'string') assert.equal(found, expected)
  else assert.match(found, expected)
  assert.equal(response.headers.get('cache-control'), 'no-store')
  const { error } = (await response.json()) as { error: unknown }
  assert.equal(typeof error, 'string')
}

test('the metadata name the address of the proxy, whatever a client sends', async (t) => {
  const { url, issuer } = await server(t)
  for (const place of [path, '/.well-known/oauth-protected-resource']) {
    const response = await fetch(new URL(place, url), {
      headers: { 'x-forwarded-host': 'evil.example', 'x-forwarded-proto': 'https' },
    })
    assert.deepEqual(await response.json(), {
      resource: url.href,
      authorization_servers: [issuer],
      scopes_supported: ['notes:read', 'notes:write'],
      bearer_methods_supported: ['header'],
      resource_name: 'Notes',
    })
  }
})

test('without a valid token for this resource, every request is a 401', async (t) => {
  const { url, app, send, token } = await server(t)
  const good = await token('notes:read')
  const none = challenge(url.origin)
  await isChallenge(await send(call('list_notes')), 401, none)
  await isChallenge(await send(call('list_notes'), { authorization: 'Bearer' }), 401, none)
  await isChallenge(await send(call('list_notes'), {}, `?access_token=${good}`), 401, none)
  for (const method of ['GET', 'POST', 'DELETE']) {
    const headers = { accept: text, 'mcp-session-id': 'known' }
    await isChallenge(await fetch(url, { method, headers }), 401, none)
  }
  const foreign = await token('notes:read', 'https://other.example/mcp')
  const wrong = ['Bearer a b', 'Bearer \u{e9}', `Bearer ${good}x`, `Bearer ${foreign}`]
  for (const authorization of wrong) {
    const response = await send(call('list_notes'), { authorization })
    await isChallenge(response, 401, /^Bearer .*error="invalid_token".*/)
  }
  const answered = await send(call('list_notes'), bearer(good))
  assert.equal(answered.status, 200)
  assert.equal(app.authn.resource?.identifier, url.href)
})

test('a missing scope is a 403 for the route, and for one tool', async (t) => {
  const { url, send, token, notes } = await server(t)
  const insufficient = /^Bearer .*error="insufficient_scope"/
  const none = await send(call('list_notes'), bearer(await token('')))
  await isChallenge(none, 403, insufficient)
  assert.match(challengeOf(none), / scope="notes:read"/)
  assert.ok(challengeOf(none).includes(` resource_metadata="${url.origin}${path}"`))

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
    assert.equal(rejected.status, 403)
    assert.match(challengeOf(rejected), insufficient)
    assert.match(challengeOf(rejected), / scope="notes:write"/)
    assert.ok(challengeOf(rejected).includes(` resource_metadata="${url.origin}${path}"`))
  }
  assert.equal(notes.size, 0, 'no tool has run')
})

test('pages of other sites get a 403 with a token or without, and read the metadata', async (t) => {
  const { url, send, token } = await server(t)
  const good = bearer(await token('notes:read'))
  for (const origin of ['https://evil.example', 'null', 'https://app.example.evil.example']) {
    for (const headers of [{}, good]) {
      const response = await send(call('list_notes'), { ...headers, origin })
      assert.equal(response.status, 403, origin)
      const { error } = (await response.json()) as { error: { code: number } }
      assert.equal(error.code, -32_000)
    }
    for (const [method, status] of [['GET', 200] as const, ['OPTIONS', 204] as const]) {
      const metadata = await fetch(new URL(path, url), { method, headers: { origin } })
      assert.equal(metadata.status, status, method)
      assert.equal(metadata.headers.get('access-control-allow-origin'), '*')
    }
  }
  const origin = 'https://app.example'
  for (const [headers, status] of [[{}, 401] as const, [good, 200] as const]) {
    const allowed = await send(call('list_notes'), { ...headers, origin })
    assert.equal(allowed.status, status)
    assert.equal(allowed.headers.get('access-control-allow-origin'), origin)
    assert.equal(allowed.headers.get('access-control-expose-headers'), 'WWW-Authenticate')
  }
})

test('answers are streams where clients ask for them, and do not keep the app from closing', async (t) => {
  const { app, send, token } = await server(t)
  const good = bearer(await token('notes:read'))
  const answered = await send(call('list_notes'), good)
  assert.equal(answered.headers.get('content-type'), 'text/event-stream')
  assert.match(await answered.text(), /^event: message\ndata: {.*of client:robot/)

  const listen = {
    jsonrpc: '2.0',
    id: 2,
    method: 'subscriptions/listen',
    params: { _meta: meta, notifications: { toolsListChanged: true } },
  }
  const headers = { 'mcp-protocol-version': version, 'mcp-method': 'subscriptions/listen' }
  assert.equal((await send(listen, headers)).status, 401)
  const stream = await send(listen, { ...good, ...headers })
  assert.equal(stream.headers.get('content-type'), 'text/event-stream')
  await app.close()
  assert.match(await stream.text(), /subscriptions/)
})

test('tools get scopes, client and expiry, and never the token', async (t) => {
  const { app, url, send, token } = await server(t)
  const seen: object[] = []
  app.server.on('request', (request: { auth: object }, response: ServerResponse) =>
    response.on('finish', () => seen.push(request.auth)),
  )
  const good = await token('notes:read notes:write')
  assert.equal((await send(call('list_notes'), bearer(good))).status, 200)
  const [{ expiresAt, ...auth }] = seen as [{ expiresAt: unknown }]
  assert.equal(typeof expiresAt, 'number')
  assert.deepEqual(auth, {
    token: '',
    clientId: 'robot',
    scopes: ['notes:read', 'notes:write'],
    resourceMetadataUrl: `${url.origin}${path}`,
    extra: { name: 'client:robot' },
  })
  assert.ok(!JSON.stringify(seen).includes(good))
})

test('opaque: a revoked token is a 401, as is one for another resource', async (t) => {
  const { send, token, revoke } = await server(t, 'opaque')
  const good = await token('notes:read')
  assert.equal((await send(call('list_notes'), bearer(good))).status, 200)
  const foreign = await token('notes:read', 'https://other.example/mcp')
  const invalid = /^Bearer .*error="invalid_token"/
  await isChallenge(await send(call('list_notes'), bearer(foreign)), 401, invalid)
  await revoke(good)
  await isChallenge(await send(call('list_notes'), bearer(good)), 401, invalid)
})
