import { createServer, type AddressInfo, type Socket } from 'node:net'
import { openEmbedded } from '../demo/embedded.js'

const sslRequest = 80_877_103
/** Types of messages after which a client waits for an answer: Query, Sync. */
const isTurn = (type: number): boolean => type === 0x51 || type === 0x53
const terminate = 0x58

/** A server, and how to end it. */
export interface EmbeddedPostgres {
  readonly connectionString: string
  close(): Promise<void>
}

/**
 * Starts a PostgreSQL server (PGlite) on 127.0.0.1, in memory, for `pg`. Its connections take turns in one
 * session, from Sync to Sync: transactions of several at once would mix.
 */
export async function startPostgres(): Promise<EmbeddedPostgres> {
  const database = await openEmbedded()
  const sockets = new Set<Socket>()
  let turn: Promise<unknown> = Promise.resolve()
  const server = createServer((socket) => {
    sockets.add(socket)
    socket.on('close', () => sockets.delete(socket))
    socket.on('error', () => undefined)
    readTurns(socket, (messages) => {
      turn = turn.then(async () => socket.write(await database.execProtocolRaw(messages)))
      turn.catch((error: unknown) => socket.destroy(error as Error))
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return {
    connectionString: `postgres://postgres@127.0.0.1:${port}/postgres`,
    async close() {
      for (const socket of sockets) socket.destroy()
      await new Promise((resolve) => server.close(resolve))
      await turn.catch(() => undefined)
      await database.close()
    },
  }
}

/** Cuts what a client sends into what it wants answered at once. PostgreSQL, "Message Formats". */
function readTurns(socket: Socket, answer: (messages: Buffer) => void): void {
  let bytes = Buffer.alloc(0)
  let started = false
  let end = 0
  socket.on('data', (chunk: Buffer) => {
    bytes = Buffer.concat([bytes, chunk])
    for (;;) {
      // The first message has no type.
      const header = started ? 1 : 0
      if (bytes.length < end + header + 4) return
      const next = end + header + bytes.readInt32BE(end + header)
      if (bytes.length < next) return
      const type = bytes.readUInt8(end)
      if (!started && bytes.readInt32BE(4) === sslRequest) {
        socket.write('N')
        bytes = bytes.subarray(next)
        continue
      }
      if (started && type === terminate) {
        socket.end()
        return
      }
      end = next
      if (started && !isTurn(type)) continue
      started = true
      answer(bytes.subarray(0, end))
      bytes = bytes.subarray(end)
      end = 0
    }
  })
}
