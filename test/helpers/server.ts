import { once } from 'node:events'
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Test } from 'tap'

/** A server on 127.0.0.1, which ends with the test, and can be away before. */
export async function startServer(t: Test, answer: RequestListener) {
  const server = createServer(answer)
  const listen = async (port: number): Promise<void> =>
    void (await once(server.listen(port, '127.0.0.1'), 'listening'))
  const kill = (): Promise<void> =>
    new Promise((resolve) => {
      server.close(() => resolve())
      server.closeAllConnections()
    })
  await listen(0)
  const { port } = server.address() as AddressInfo
  t.teardown(kill)
  /** On the same port again. */
  const revive = (): Promise<void> => listen(port)
  return { url: `http://127.0.0.1:${port}`, kill, revive }
}
