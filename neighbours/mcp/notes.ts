import { McpServer } from '@modelcontextprotocol/server'
import { z } from 'zod'

/** Notes by their ids, of one user. In an app, a table. */
export type Notes = Map<string, string>

const text = (words: string) => ({ content: [{ type: 'text' as const, text: words }] })

/** The tools for one request. They know the notes of its user only. */
export function notesServer(notes: Notes): McpServer {
  const server = new McpServer({ name: 'notes', version: '1.0.0' })
  server.registerTool('list_notes', { description: 'Lists your notes with their ids.' }, () =>
    text([...notes].map(([id, note]) => `${id}: ${note}`).join('\n') || 'No notes.'),
  )
  server.registerTool(
    'delete_note',
    { description: 'Deletes one of your notes.', inputSchema: z.object({ id: z.string() }) },
    ({ id }) => text(notes.delete(id) ? `Deleted ${id}.` : 'There is no such note.'),
  )
  return server
}
