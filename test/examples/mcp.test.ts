// program: examples-mcp
// Clients of both SDKs find their way from the address of the MCP endpoint alone.
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
import t, { type Test } from 'tap'
import { person, robot, setUp, type Tokens } from '../helpers/mcp.js'

const info = { name: 'agent', version: '1.0.0' }
const remove = { name: 'delete_note', arguments: { id: '1' } }
const metadata = '/.well-known/oauth-protected-resource/mcp'

const textOf = (result: object): string =>
  (result as { content: [{ text: string }] }).content[0].text

/** Of the SDK 2.4, whose transports connect once. */
function newest(t: Test, url: URL, authProvider: OAuthClientProvider) {
  const client = new Client(info, { versionNegotiation: { mode: { pin: '2026-07-28' } } })
  const transport = new StreamableHTTPClientTransport(url, { authProvider })
  t.teardown(() => client.close())
  return { client, transport, connect: () => client.connect(transport) }
}

/** Of the SDK 1.32, as it is deployed most today. */
function older(t: Test, url: URL, authProvider: OAuthClientProvider) {
  const client = new OldClient(info)
  const transport = new OldTransport(url, { authProvider: authProvider })
  t.teardown(() => client.close())
  return { client, transport, connect: () => client.connect(transport) }
}

for (const tokens of ['jwt', 'opaque'] satisfies Tokens[]) {
  t.test(`2.4, ${tokens}: a user logs in, and agrees to more when a tool needs it`, async (t) => {
    const { url, log, notes } = await setUp(t, tokens)
    const alice = person()
    const first = newest(t, url, alice)
    await t.rejects(first.connect(), UnauthorizedError)
    t.strictSame(log, ['POST /mcp 401', `GET ${metadata} 200`])
    t.equal(alice.asked[0]?.searchParams.get('scope'), 'notes:read')
    t.equal(alice.asked[0]?.searchParams.get('resource'), url.href)
    t.equal(alice.asked[0]?.searchParams.get('code_challenge_method'), 'S256')
    await first.transport.finishAuth(await alice.agree('alice'))

    const { client, transport, connect } = newest(t, url, alice)
    await connect()
    const { tools } = await client.listTools()
    t.strictSame(tools.map(({ name }) => name).toSorted(), ['delete_note', 'list_notes'])
    t.equal(
      textOf(await client.callTool({ name: 'list_notes' })),
      '1: of user:alice\n2: of user:alice',
    )

    await t.rejects(client.callTool(remove), UnauthorizedError)
    t.strictSame(log.slice(-2), ['POST /mcp 403', `GET ${metadata} 200`])
    t.equal(alice.asked[1]?.searchParams.get('scope'), 'notes:read notes:write')
    t.equal(notes.get('user:alice')?.size, 2)
    await transport.finishAuth(await alice.agree('alice'))
    t.equal(textOf(await client.callTool(remove)), 'Deleted 1.')
    t.strictSame([...(notes.get('user:alice') ?? [])], [['2', 'of user:alice']])
  })

  t.test(`2.4, ${tokens}: a program asks for more by itself`, async (t) => {
    const { url, issuer, log, notes } = await setUp(t, tokens)
    const credentials = new ClientCredentialsProvider({ ...robot, expectedIssuer: issuer })
    const { client, connect } = newest(t, url, credentials)
    await connect()
    t.equal(credentials.tokens()?.scope, 'notes:read')
    log.length = 0
    t.equal(textOf(await client.callTool(remove)), 'Deleted 1.')
    t.strictSame(log, ['POST /mcp 403', `GET ${metadata} 200`, 'POST /mcp 200'])
    t.equal(credentials.tokens()?.scope, 'notes:read notes:write')
    t.strictSame([...notes.keys()], ['client:robot'])
  })

  t.test(`1.32, ${tokens}: a user logs in, and agrees to more when a tool needs it`, async (t) => {
    const { url, log } = await setUp(t, tokens)
    const bob = person()
    const first = older(t, url, bob)
    await t.rejects(first.connect(), { message: 'Unauthorized' })
    t.strictSame(log, ['POST /mcp 401', `GET ${metadata} 200`])
    t.equal(bob.asked[0]?.searchParams.get('scope'), 'notes:read')
    await first.transport.finishAuth((await bob.agree('bob')).get('code') ?? '')

    const { client, transport, connect } = older(t, url, bob)
    await connect()
    t.equal(textOf(await client.callTool({ name: 'list_notes' })), '1: of user:bob\n2: of user:bob')
    await t.rejects(client.callTool(remove), { message: 'Unauthorized' })
    t.equal(bob.asked[1]?.searchParams.get('scope'), 'notes:write')
    await transport.finishAuth((await bob.agree('bob')).get('code') ?? '')
    t.equal(textOf(await client.callTool(remove)), 'Deleted 1.')
    // It asked for this scope alone, which implies the weaker one.
    t.equal(textOf(await client.callTool({ name: 'list_notes' })), '2: of user:bob')
  })

  t.test(`1.32, ${tokens}: a program has the scopes that it was told to ask for`, async (t) => {
    const { url, issuer } = await setUp(t, tokens)
    const withScope = (scope?: string) => {
      const credentials = new OldCredentials({ ...robot, expectedIssuer: issuer, scope })
      return older(t, url, credentials)
    }
    await t.rejects(withScope().connect(), { code: 403 })
    const reader = withScope('notes:read')
    await reader.connect()
    t.equal(textOf(await reader.client.callTool({ name: 'list_notes' })).split('\n').length, 2)
    await t.rejects(reader.client.callTool(remove), { code: 403 })
    const writer = withScope('notes:read notes:write')
    await writer.connect()
    t.equal(textOf(await writer.client.callTool(remove)), 'Deleted 1.')
  })
}
