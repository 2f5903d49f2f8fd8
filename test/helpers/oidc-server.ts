import { once } from 'node:events'
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import Provider, { type Configuration } from 'oidc-provider'
import type { Test } from 'tap'

/** A server for `oidc-provider`, on a port of its own, whose provider a test replaces. */
export async function oidcServer(t: Test) {
  // It writes advice for its developer, such as to use https.
  t.intercept(console, 'info', { value: () => undefined })
  t.intercept(console, 'warn', { value: () => undefined })
  let answer: RequestListener = () => undefined
  const server = createServer((request, response) => answer(request, response))
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  t.teardown(() => {
    server.close()
    server.closeAllConnections()
  })
  return {
    url,
    serve(configuration: Configuration): Provider {
      const provider = new Provider(url, configuration)
      answer = provider.callback()
      return provider
    },
    /** From now on, requests get no response. */
    hang(): void {
      answer = () => undefined
    },
  }
}
