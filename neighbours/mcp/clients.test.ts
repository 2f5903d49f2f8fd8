// Clients of both SDKs find their way from the address of the MCP endpoint alone.
import assert from 'node:assert/strict'
import {
  Client,
  ClientCredentialsProvider,
  StreamableHTTPClientTransport,
  UnauthorizedError,
  type OAuthClientProvider,
} from '@modelcontextprotocol/client'
import { ClientCredentialsProvider as OldCredentials } from '@modelcontextprotocol/sdk/client/auth-extensions.js'
import { Client as OldClient } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport as OldTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { test, type TestContext } from 'node:test'
import { person, robot, setUp, type Tokens } from './setup.js'

const info = { name: 'agent', version: '1.0.0' }
const remove = { name: 'delete_note', arguments: { id: '1' } }
const metadata = '/.well-known/oauth-protected-resource/mcp'

const textOf = (result: object): string =>
  (result as { content: [{ text: string }] }).content[0].text

/** Of the SDK 2.4, whose transports connect once. */
function newest(t: TestContext, url: URL, authProvider: OAuthClientProvider) {
  const client = new Client(info, { versionNegotiation: { mode: { pin: '2026-07-28' } } })
  const transport = new StreamableHTTPClientTransport(url, { authProvider })
  t.after(() => client.close())
  return { client, transport, connect: () => client.connect(transport) }
}

/** Of the SDK 1.32, as it is deployed most today. */
function older(t: TestContext, url: URL, authProvider: OAuthClientProvider) {
  const client = new OldClient(info)
  const transport = new OldTransport(url, { authProvider: authProvider })
  t.after(() => client.close())
  return { client, transport, connect: () => client.connect(transport) }
}

for (const tokens of ['jwt', 'opaque'] satisfies Tokens[]) {
  test(`2.4, ${tokens}: a user logs in, and agrees to more when a tool needs it`, async (t) => {
    const { url, log, notes } = await setUp(t, tokens)
    const alice = person()
    const first = newest(t, url, alice)
    await assert.rejects(first.connect(), UnauthorizedError)
    assert.deepEqual(log, ['POST /mcp 401', `GET ${metadata} 200`])
    assert.equal(alice.asked[0]?.searchParams.get('scope'), 'notes:read')
    assert.equal(alice.asked[0]?.searchParams.get('resource'), url.href)
    assert.equal(alice.asked[0]?.searchParams.get('code_challenge_method'), 'S256')
    await first.transport.finishAuth(await alice.agree('alice'))

    const { client, transport, connect } = newest(t, url, alice)
    await connect()
    const { tools } = await client.listTools()
    assert.deepEqual(tools.map(({ name }) => name).toSorted(), ['delete_note', 'list_notes'])
    assert.equal(
      textOf(await client.callTool({ name: 'list_notes' })),
      '1: of user:alice\n2: of user:alice',
    )

    await assert.rejects(client.callTool(remove), UnauthorizedError)
    assert.deepEqual(log.slice(-2), ['POST /mcp 403', `GET ${metadata} 200`])
    assert.equal(alice.asked[1]?.searchParams.get('scope'), 'notes:read notes:write')
    assert.equal(notes.get('user:alice')?.size, 2)
    await transport.finishAuth(await alice.agree('alice'))
    assert.equal(textOf(await client.callTool(remove)), 'Deleted 1.')
    assert.deepEqual([...(notes.get('user:alice') ?? [])], [['2', 'of user:alice']])
  })

  test(`2.4, ${tokens}: a program asks for more by itself`, async (t) => {
    const { url, issuer, log, notes } = await setUp(t, tokens)
    const credentials = new ClientCredentialsProvider({ ...robot, expectedIssuer: issuer })
    const { client, connect } = newest(t, url, credentials)
    await connect()
    assert.equal(credentials.tokens()?.scope, 'notes:read')
    log.length = 0
    assert.equal(textOf(await client.callTool(remove)), 'Deleted 1.')
    assert.deepEqual(log, ['POST /mcp 403', `GET ${metadata} 200`, 'POST /mcp 200'])
    assert.equal(credentials.tokens()?.scope, 'notes:read notes:write')
    assert.deepEqual([...notes.keys()], ['client:robot'])
  })

  test(`1.32, ${tokens}: a user logs in, and agrees to more when a tool needs it`, async (t) => {
    const { url, log } = await setUp(t, tokens)
    const bob = person()
    const first = older(t, url, bob)
    await assert.rejects(first.connect(), { message: 'Unauthorized' })
    assert.deepEqual(log, ['POST /mcp 401', `GET ${metadata} 200`])
    assert.equal(bob.asked[0]?.searchParams.get('scope'), 'notes:read')
    await first.transport.finishAuth((await bob.agree('bob')).get('code') ?? '')

    const { client, transport, connect } = older(t, url, bob)
    await connect()
    assert.equal(
      textOf(await client.callTool({ name: 'list_notes' })),
      '1: of user:bob\n2: of user:bob',
    )
    await assert.rejects(client.callTool(remove), { message: 'Unauthorized' })
    assert.equal(bob.asked[1]?.searchParams.get('scope'), 'notes:write')
    await transport.finishAuth((await bob.agree('bob')).get('code') ?? '')
    assert.equal(textOf(await client.callTool(remove)), 'Deleted 1.')
    // It asked for this scope alone, which implies the weaker one.
    assert.equal(textOf(await client.callTool({ name: 'list_notes' })), '2: of user:bob')
  })

  test(`1.32, ${tokens}: a program has the scopes that it was told to ask for`, async (t) => {
    const { url, issuer } = await setUp(t, tokens)
    const withScope = (scope?: string) => {
      const credentials = new OldCredentials({ ...robot, expectedIssuer: issuer, scope })
      return older(t, url, credentials)
    }
    await assert.rejects(withScope().connect(), { code: 403 })
    const reader = withScope('notes:read')
    await reader.connect()
    assert.equal(textOf(await reader.client.callTool({ name: 'list_notes' })).split('\n').length, 2)
    await assert.rejects(reader.client.callTool(remove), { code: 403 })
    const writer = withScope('notes:read notes:write')
    await writer.connect()
    assert.equal(textOf(await writer.client.callTool(remove)), 'Deleted 1.')
  })
}
