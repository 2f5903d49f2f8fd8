// What neighbours/mcp does for users whose `sub` is a number, and its scopes of tools over the older SDK.
import assert from 'node:assert/strict'
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js'
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js'
import Fastify from 'fastify'
import { authn } from 'fastify-authn'
import { authnTesting, mintToken } from 'fastify-authn/testing'
import { test } from 'node:test'
import { buildApp } from './app.js'
import { toolScopes } from './tools.js'

const identifier = 'https://notes.example.com/mcp'
const issuer = 'https://id.example.com'
const headersOf = (token: string) => ({
  authorization: `Bearer ${token}`,
  accept: 'application/json, text/event-stream',
})
const call = (name: string): object => ({
  jsonrpc: '2.0',
  id: 1,
  method: 'tools/call',
  params: { name, arguments: {} },
})

test('each user has notes of their own, whatever type `sub` has', async (t) => {
  const asked: string[] = []
  const notesOf = (name: string) => {
    asked.push(name)
    return new Map([['1', name]])
  }
  const app = await buildApp({ identifier, issuer, origins: [], notesOf })
  t.after(() => app.close())
  await app.register(authnTesting)
  await app.listen({ host: '127.0.0.1', port: 0 })
  const origin = app.listeningOrigin
  for (const sub of [1, 2, '2', 'robot']) {
    const claims = { client_id: 'robot', scope: 'notes:read' }
    const headers = headersOf(mintToken(app, { issuer: 'corp', sub, claims }))
    const response = await fetch(`${origin}/mcp`, {
      method: 'POST',
      headers: { ...headers, 'content-type': 'application/json' },
      body: JSON.stringify(call('list_notes')),
    })
    assert.equal(response.status, 200)
    await response.text()
  }
  assert.deepEqual([...new Set(asked)], ['user:1', 'user:2', 'client:robot'])
})

test('the scopes of tools, with a server of the SDK 1.x', async (t) => {
  const app = Fastify()
  t.after(() => app.close())
  await app.register(authn, {
    resource: identifier,
    issuers: { corp: { issuer, user: ({ sub }) => ({ name: String(sub) }) } },
  })
  await app.register(authnTesting)
  app.post(
    '/mcp',
    { config: { auth: true }, preHandler: toolScopes({ delete_note: 'notes:write' }) },
    async (request, reply) => {
      const server = new McpServer({ name: 'notes', version: '1.0.0' })
      for (const name of ['list_notes', 'delete_note']) {
        server.registerTool(name, {}, () => ({ content: [{ type: 'text', text: `did ${name}` }] }))
      }
      const transport = new StreamableHTTPServerTransport({ sessionIdGenerator: undefined })
      await server.connect(transport)
      reply.hijack()
      await transport.handleRequest(request.raw, reply.raw, request.body)
    },
  )
  await app.listen({ host: '127.0.0.1', port: 0 })
  const origin = app.listeningOrigin
  const send = (scope: string, body: object): Promise<Response> =>
    fetch(`${origin}/mcp`, {
      method: 'POST',
      headers: {
        ...headersOf(mintToken(app, { issuer: 'corp', sub: 'alice', claims: { scope } })),
        'content-type': 'application/json',
      },
      body: JSON.stringify(body),
    })
  for (const body of [call('delete_note'), [call('list_notes'), call('delete_note')]]) {
    const rejected = await send('notes:read', body)
    assert.equal(rejected.status, 403)
    assert.match(
      String(rejected.headers.get('www-authenticate')),
      /^Bearer .*error="insufficient_scope", scope="notes:write", resource_metadata="https:/,
    )
  }
  assert.match(await (await send('notes:read', call('list_notes'))).text(), /did list_notes/)
  assert.match(await (await send('notes:write', call('delete_note'))).text(), /did delete_note/)
})
