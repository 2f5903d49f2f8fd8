import { randomBytes } from 'node:crypto'
import { request } from 'node:http'
import type { Duplex } from 'node:stream'
import { text } from 'node:stream/consumers'
import type { AnyResponse } from './flows.js'

/** The answer to an upgrade: the rejection, or the first text messages of the socket. */
export type Upgrade = { rejected: AnyResponse } | { messages: string[] }

/** Texts of unmasked frames below 126 bytes (RFC 6455 §5.2), which is what the servers here send. */
function readTexts(bytes: Buffer): string[] {
  const texts: string[] = []
  for (let at = 0; at + 1 < bytes.length;) {
    const length = bytes.readUInt8(at + 1)
    if (at + 2 + length > bytes.length) break
    if (bytes.readUInt8(at) === 0x81) texts.push(bytes.toString('utf8', at + 2, at + 2 + length))
    at += 2 + length
  }
  return texts
}

/** A masked text frame below 126 bytes, as clients send them. */
function frame(text: string): Buffer {
  const payload = Buffer.from(text)
  const mask = randomBytes(4)
  const masked = payload.map((byte, index) => byte ^ mask.readUInt8(index % 4))
  return Buffer.concat([Buffer.from([0x81, 0x80 | payload.length]), mask, masked])
}

/**
 * Asks for a WebSocket, says something, and waits for messages.
 *
 * @param count - how many messages to wait for
 */
export function upgrade(
  port: number,
  path: string,
  headers: Record<string, string>,
  count: number,
): Promise<Upgrade> {
  return new Promise((resolve, reject) => {
    const opening = request({
      host: '127.0.0.1',
      port,
      path,
      agent: false,
      headers: {
        ...headers,
        connection: 'Upgrade',
        upgrade: 'websocket',
        'sec-websocket-version': '13',
        'sec-websocket-key': randomBytes(16).toString('base64'),
      },
    })
    opening.on('upgrade', (_, socket: Duplex, head) => {
      let bytes = head
      const read = (): void => {
        const messages = readTexts(bytes)
        if (messages.length < count) return
        socket.destroy()
        resolve({ messages })
      }
      socket.on('error', reject)
      socket.on('data', (chunk: Buffer) => {
        bytes = Buffer.concat([bytes, chunk])
        read()
      })
      socket.write(frame('hello'))
      read()
    })
    opening.on('response', (response) => {
      const { statusCode = 0, headers } = response
      text(response).then((body) => resolve({ rejected: { statusCode, headers, body } }), reject)
    })
    opening.on('error', reject)
    opening.end()
  })
}
