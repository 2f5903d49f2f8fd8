/**
 * The session of a page or an app. At run time it imports nothing: browsers load it as it is built.
 * @module fastify-authn/browser
 */

import type { Session, SessionError, SessionOptions, SessionResult } from '../../types/browser.js'

export type * from '../../types/browser.js'

/** What browsers have, and other environments may lack. Names of the DOM are known in this file only. */
interface Surroundings {
  readonly location?: { readonly origin: string }
  readonly localStorage: {
    getItem(key: string): string | null
    setItem(key: string, value: string): void
  }
  readonly document?: { readonly hidden: boolean; addEventListener: Listen }
  readonly addEventListener?: Listen
  readonly navigator?: {
    readonly locks?: {
      request(name: string, options: { signal: AbortSignal }, run: () => unknown): Promise<unknown>
    }
  }
}
type Listen = (type: string, listener: () => void, options: { signal: AbortSignal }) => void
/** What a response may have. */
interface Answer {
  readonly token?: string
  readonly refreshToken?: string
  readonly expiresIn?: number | null
  readonly message?: unknown
  readonly error?: unknown
}

/** Milliseconds. A token with less left is refreshed before a request. */
const enough = 10_000
/** Milliseconds for a refresh. The repetition a second later must come within the default `grace` of 10 seconds. */
const refreshLimit = 8000
const limit = 30_000
const away = 'The server cannot be reached.'

const sleep = (milliseconds: number) => new Promise((resolve) => setTimeout(resolve, milliseconds))
const ignore = (): void => undefined
const failure = (message: string | null, status: number, retryAfter: number | null = null) =>
  Object.assign(new Error(message ?? away), { status, retryAfter })

/**
 * Keeps a user logged in: in a page by cookies, in an app by `tokens`. The server needs the option `sessions`.
 *
 * @throws TypeError if `url` or `login` is no address, or if `url` is missing outside of a browser
 */
export function createSession(options: SessionOptions = {}): Session {
  const { url = '/', login = '/login', tokens, onChange } = options
  const surroundings = globalThis as unknown as Surroundings
  const here = surroundings.location?.origin
  const base = new URL(url, here)
  const loginUrl = new URL(login, base).href
  const path = loginUrl.replace(/\/+$/, '')
  const key = `fastify-authn ${loginUrl}`
  const credentials = tokens ? 'omit' : base.origin === here ? 'same-origin' : 'include'
  const closed = new AbortController()
  let isStored = !tokens
  /** A random id of the login and the time when its token expires; or else why nobody is logged in. */
  let entry = ''
  let accessToken: string | undefined
  let renewing: Promise<void> | undefined

  /** Reads the entry that all tabs share, or writes it. Where storage throws, this tab is on its own. */
  function shared(next?: string): string {
    if (next !== undefined) entry = next
    try {
      if (isStored && next === undefined) entry = surroundings.localStorage.getItem(key) ?? ''
      else if (isStored) surroundings.localStorage.setItem(key, entry)
    } catch {
      isStored = false
    }
    return entry
  }
  const user = (): string => (/ /.test(shared()) ? entry.replace(/ .*/, '') : '')
  const left = (): number => Number(shared().split(' ')[1]) - Date.now()

  let known = user()
  function tellChange(): void {
    const id = user()
    if (id === known) return
    known = id
    const reason = id ? 'login' : entry === 'expired' ? entry : 'logout'
    // Apart, so that an error of the app breaks nothing here.
    queueMicrotask(() => closed.signal.aborted || onChange?.({ loggedIn: id !== '', reason }))
  }

  /** @param id - of the login that was refreshed, '' for none; undefined for a new login */
  async function keep(answer: Answer | null, sent: number, id?: string): Promise<void> {
    const { token, refreshToken, expiresIn } = answer ?? {}
    const isOver = (): boolean => id !== undefined && id !== user()
    if (isOver()) return
    if (tokens) {
      // So responds a server with the option `cookies`. Kept, it would replace a token that works.
      if (!token || !refreshToken) throw failure('The response has no tokens.', 200)
      await tokens.set(refreshToken)
      if (isOver()) return
      accessToken = token
    }
    const expires = typeof expiresIn === 'number' ? sent + expiresIn * 1000 : Infinity
    shared(`${id || Math.random().toString(36).slice(2)} ${expires}`)
    tellChange()
  }

  async function end(reason: 'logout' | 'expired'): Promise<void> {
    accessToken = undefined
    shared(reason)
    tellChange()
    try {
      await tokens?.set(null)
    } catch {
      // The token that is left there is revoked.
    }
  }

  const ready = (async () => {
    if (!tokens || !(await tokens.get())) return
    shared('kept 0')
    known = user()
  })().catch(ignore)

  function send(input: string | URL | Request, init?: RequestInit): Promise<Response> {
    const headers = new Headers(init?.headers ?? (input as Partial<Request>).headers)
    if (accessToken) headers.set('authorization', `Bearer ${accessToken}`)
    return fetch(input, { credentials, ...init, headers })
  }

  /** Posts JSON. @param done - called if the server has done it, with when the request was sent */
  async function call(
    target: string | URL,
    body: () => object | Promise<object>,
    done: (answer: Answer | null, sent: number) => unknown,
    timeout = limit,
    request = send,
  ): Promise<SessionResult> {
    try {
      await ready
      const sent = Date.now()
      const response = await request(target, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(await body()),
        // React Native has no such function.
        signal: AbortSignal.timeout?.(timeout) ?? null,
      })
      const { ok, status } = response
      const read = status === 204 ? null : response.json()
      const answer = (await read?.catch((error: unknown) => {
        // Such as the page of a captive portal.
        if (ok) throw error
      })) as Answer | null | undefined
      const found = answer ?? null
      if (ok) await done(found, sent)
      const retryAfter = Number(response.headers.get('retry-after')) || null
      return { ok, status, error: ok ? null : textOf(found, status), body: found, retryAfter }
    } catch (error) {
      const { status = 0, message = '', retryAfter = null } = error as Partial<SessionError>
      return { ok: false, status, error: status ? message : away, body: null, retryAfter }
    }
  }

  const withToken = async (more = {}): Promise<object> => ({
    ...more,
    refreshToken: (await tokens?.get()) ?? undefined,
  })

  async function exchange(seen: string): Promise<void> {
    for (const seconds of [1, 1, 2, 0]) {
      // Another tab has refreshed or logged out while this one waited.
      if (shared() !== seen) return
      const id = user()
      const result = await call(
        `${path}/refresh`,
        withToken,
        (answer, sent) => keep(answer, sent, id),
        refreshLimit,
      )
      const { ok, status, error, retryAfter } = result
      if (ok || user() !== id) return
      if (status === 401 || (tokens && status === 400)) return end('expired')
      const wait = Math.max(seconds, retryAfter ?? 0)
      if (!seconds || (status && status < 500) || wait > 10)
        throw failure(error, status, retryAfter)
      await sleep(wait * 1000)
    }
  }

  /** Runs it while no other tab does, but for tabs that hang: the `grace` of the server makes two refreshes harmless. */
  async function alone(run: () => Promise<void>): Promise<void> {
    const locks = tokens ? undefined : surroundings.navigator?.locks
    if (!locks) return run()
    return new Promise((resolve) => {
      locks
        .request(key, { signal: AbortSignal.timeout(5000) }, () => {
          const done = run()
          resolve(done)
          // Other processes see a little later what this one has stored.
          return done.catch(ignore).then(() => sleep(100))
        })
        .catch(() => resolve(run()))
    })
  }

  /** Once for all in this tab who need it. */
  function renew(): Promise<void> {
    const seen = shared()
    renewing ??= alone(() => exchange(seen)).finally(() => {
      renewing = undefined
    })
    return renewing
  }

  async function fetchAsUser(input: string | URL | Request, init?: RequestInit): Promise<Response> {
    // Other objects are sent to where their string says, whatever their `url` is.
    const request = input instanceof Request && input
    const target = new URL(request ? request.url : input, base)
    if (target.origin !== base.origin) throw new TypeError(`${target.origin} is not ${base.origin}`)
    await ready
    const id = user()
    if (left() < enough) await renew()
    if (user() && user() !== id) throw failure('Another user has logged in.', 401)
    const seen = shared()
    // The body of a request can be read once, and is not used if `init` has another one.
    const again = request && id && !init?.body ? request.clone() : request
    const response = await send(request || target, init)
    if (response.status !== 401 || !id || user() !== id) return response
    if (shared() === seen) await renew()
    return isStream(init?.body) || user() !== id ? response : send(again || target, init)
  }

  const { signal } = closed
  surroundings.addEventListener?.('storage', tellChange, { signal })
  surroundings.document?.addEventListener(
    'visibilitychange',
    () => {
      if (surroundings.document?.hidden) return
      tellChange()
      if (left() < 0) renew().catch(ignore)
    },
    { signal },
  )

  return {
    get loggedIn() {
      return user() !== ''
    },
    ready,
    fetch: fetchAsUser,
    logIn: (body) =>
      call(
        loginUrl,
        () => body,
        (answer, sent) => keep(answer, sent),
      ),
    post: (route, body) =>
      call(
        new URL(route, path),
        () => body,
        (answer, sent) => {
          if (/finish|password\/change/.test(route)) return keep(answer, sent)
          return route === 'account/delete' && end('logout')
        },
        limit,
        fetchAsUser,
      ),
    async logOut({ everywhere = false } = {}) {
      const result = await call(
        new URL('logout', path),
        () => withToken({ everywhere }),
        () => end('logout'),
      )
      if (result.status !== 401) return result
      // There is no such session: that user is logged out, but nowhere else.
      await end('logout')
      return everywhere ? result : { ...result, ok: true, error: null }
    },
    async refresh() {
      await ready
      await renew()
      return user() !== ''
    },
    close: () => closed.abort(),
  }
}

/** What a response says about itself, by default in `error`; Fastify's own errors say it in `message`. */
function textOf(answer: Answer | null, status: number): string {
  const isText = (text: unknown): text is string => typeof text === 'string'
  return [answer?.message, answer?.error].find(isText) ?? `The server responded with ${status}.`
}

/** Whether a body can be sent only once. Streams of Node are no `ReadableStream`. */
function isStream(body: unknown): boolean {
  const { getReader, [Symbol.asyncIterator]: iterate } = Object(body) as Record<symbol, unknown> & {
    getReader?: unknown
  }
  return Boolean(getReader ?? iterate)
}
