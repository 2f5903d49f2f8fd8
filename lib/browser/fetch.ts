import { failure, type Send } from './call.js'
import { leftOf } from './entry.js'

type Remedy = (challenge: string) => unknown

export const asUser =
  (base: URL, ready: Promise<void>, shared: () => string, user: () => string, send: Send) =>
  (refresh: Remedy, stepUp: () => Remedy | undefined): Send =>
  async (input, init) => {
    /** What may help after a 401, each once. */
    const remedies = [refresh, stepUp()]
    // Other objects are sent to where their string says, whatever their `url` is.
    let request = input instanceof Request && input
    const target = new URL(request ? request.url : input, base)
    if (target.origin !== base.origin) throw new TypeError(`The server is ${base.origin}`)
    await ready
    let id = user()
    // A token with less than ten seconds left may expire on its way.
    if (leftOf(shared()) < 10_000) await refresh('')
    id ||= user()
    if (user() && user() !== id) throw failure('The user changed.', 401)
    // Streams of Node are no `ReadableStream`.
    const body = Object(init?.body) as Record<string | symbol, unknown>
    const isStream = body['getReader'] ?? body[Symbol.asyncIterator]
    for (;;) {
      const seen = shared()
      const sent = request || target
      // The body of a request can be read once, and is not used if `init` has another one.
      if (request && id && !init?.body) request = request.clone()
      const response = await send(sent, init)
      if (response.status !== 401 || !id || user() !== id) return response
      const challenge = response.headers.get('www-authenticate') as string
      // insufficient_user_authentication (RFC 9470)
      const kind = Number(/_user_auth/.test(challenge))
      const remedy = remedies[kind]
      if (!remedy) return response
      // Otherwise another request has refreshed, or asked the user, since this one was sent.
      if (shared() === seen) {
        remedies[kind] = undefined
        if (!(await remedy(challenge))) return response
      }
      if (isStream || user() !== id) return response
    }
  }
