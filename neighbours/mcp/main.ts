// Starts the MCP server with an authorization server of its own, and notes in memory.
import { start } from '../../examples/support/start.js'
import { buildApp } from './app.js'
import { startAuthorizationServer } from './authorization-server.js'
import type { Notes } from './notes.js'

const notes = new Map<string, Notes>()
const { issuer } = await startAuthorizationServer()
const identifier = `http://127.0.0.1:${process.env.PORT || 3000}/mcp`
const app = await buildApp({
  identifier,
  issuer,
  // Where MCP Inspector has its page.
  origins: ['http://localhost:6274'],
  notesOf(name) {
    const known = notes.get(name) ?? new Map([['1', 'Buy milk']])
    notes.set(name, known)
    return known
  },
})
await start(
  app,
  'curl -i -X POST $URL/mcp',
  'curl $URL/.well-known/oauth-protected-resource/mcp',
  `claude mcp add --transport http notes ${identifier}`,
)
