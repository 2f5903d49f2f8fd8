import type { RequestListener } from 'node:http'
import Provider, { type Configuration } from 'oidc-provider'
import type { Test } from 'tap'
import { startServer } from './server.js'

/** A server for `oidc-provider`, on a port of its own, whose provider a test replaces. */
export async function oidcServer(t: Test) {
  // It writes advice for its developer, such as to use https.
  t.intercept(console, 'info', { value: () => undefined })
  t.intercept(console, 'warn', { value: () => undefined })
  let answer: RequestListener = () => undefined
  const { url } = await startServer(t, (request, response) => answer(request, response))
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
