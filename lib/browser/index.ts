/**
 * The session of a page or an app. At run time it imports nothing: browsers load it as it is built.
 * @module fastify-authn/browser
 */

import type { Session, SessionError, SessionOptions, SessionResult } from '../../types/browser.js'

export type * from '../../types/browser.js'
export type * from '../../types/browser-routes.js'

/** The members of browsers that other environments may lack. Names of the DOM are known in this file only. */
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
interface Answer {
  readonly token?: string
  readonly refreshToken?: string
  readonly expiresIn?: number | null
  readonly message?: unknown
  readonly error?: unknown
}

/** Milliseconds. A token with less left is refreshed before a request. */
const enough = 10_000
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
  const { url = '/', login = '/login', tokens, onChange, onStepUp } = options
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
  /** Aborts the refresh of this tab. */
  let refreshing: AbortController | undefined
  let steppingUp: Promise<unknown> | undefined

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
    // If another tab has logged in meanwhile, as it can without locks, the cookies of this refresh would replace the
    // new ones.
    refreshing?.abort()
    const reason = id ? 'login' : entry === 'expired' ? entry : 'logout'
    // The callback runs as a microtask, so that an error of the app breaks nothing here.
    queueMicrotask(() => closed.signal.aborted || onChange?.({ loggedIn: id !== '', reason }))
  }

  /** @param id - of the login that was refreshed, '' for none; undefined for a new login */
  async function keep(answer: Answer | null, sent: number, id?: string): Promise<void> {
    const { token, refreshToken, expiresIn } = answer ?? {}
    if (id !== undefined && id !== user()) return
    if (tokens) {
      // A server with the option `cookies` responds so. If it were stored, it would replace a token that works.
      if (!token || !refreshToken) throw failure('The response has no tokens.', 200)
      await tokens.set(refreshToken)
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
  /** Resolves when all earlier refreshes, logins and logouts of this tab are done. */
  let turn: Promise<unknown> = ready

  function send(input: string | URL | Request, init?: RequestInit): Promise<Response> {
    const headers = new Headers(init?.headers ?? (input as Partial<Request>).headers)
    if (accessToken) headers.set('authorization', `Bearer ${accessToken}`)
    if (tokens) headers.set('token-delivery', 'body')
    return fetch(input, { credentials, ...init, headers })
  }

  /** Posts JSON, or gets where there is none. @param done - called if the server has done it, with when the request was sent */
  async function call(
    target: string | URL,
    body: () => object | undefined | Promise<object>,
    done: (answer: Answer | null, sent: number) => unknown,
    request = send,
    timeout = 30_000,
    stop?: AbortController,
  ): Promise<SessionResult> {
    try {
      const sent = Date.now()
      const sending = await body()
      const init = {
        method: sending ? 'POST' : 'GET',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(sending),
        // Each repetition gets a limit of its own: the user may take long to confirm.
        get signal() {
          return limited(timeout, stop)
        },
      }
      const response = await request(target, init)
      const { ok, status } = response
      const read = status === 204 ? null : response.json()
      const answer = (await read?.catch((error: unknown) => {
        // A 200 that is no JSON is not from the API: it may be the page of a captive portal.
        if (ok) throw error
      })) as Answer | null | undefined
      const found = answer ?? null
      // 202: a mail was sent, or a login asks for a second factor. Nobody is logged in.
      if (ok && status !== 202) await done(found, sent)
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

  /** @param inTurn - runs one attempt while nothing else changes the session. Logins go first between two attempts */
  async function exchange(seen: string, inTurn: typeof alone): Promise<void> {
    const pauses = [1, 1, 2]
    for (;;) {
      const stop = (refreshing = new AbortController())
      const result = await inTurn(async () => {
        // Another tab has refreshed or logged out while this one waited.
        if (shared() !== seen) return null
        const id = user()
        const refreshed = await call(
          `${path}/refresh`,
          withToken,
          (answer, sent) => keep(answer, sent, id),
          send,
          // The repetition a second later must come within the default `grace` of 10 seconds.
          8000,
          stop,
        )
        const { ok, status } = refreshed
        if (ok || user() !== id) return null
        if (status !== 401 && !(tokens && status === 400)) return refreshed
        await end('expired')
        return null
        // Two refreshes at once are harmless: the `grace` of the server gives both the same tokens.
      }, 5000)
      if (!result) return
      const { status, error, retryAfter } = result
      const pause = Math.max(pauses.shift() ?? Infinity, retryAfter ?? 0)
      if (pause > 10 || (status && status < 500)) throw failure(error, status, retryAfter)
      await sleep(pause * 1000)
    }
  }

  /**
   * Runs it while nothing else in this browser changes the session, but for tabs that hang.
   *
   * @param wait - milliseconds, more than a refresh takes, since its cookies must not arrive after a login
   */
  function alone<Result>(run: () => Promise<Result>, wait = 10_000): Promise<Result> {
    const locks = tokens ? undefined : surroundings.navigator?.locks
    const locked = (): Promise<Result> =>
      new Promise((resolve) => {
        let done: Promise<Result> | undefined
        const start = (): Promise<Result> => {
          resolve((done ??= run()))
          return done
        }
        // Other processes see a little later what this one has stored.
        const hold = (): Promise<unknown> =>
          start()
            .catch(ignore)
            .then(() => sleep(100))
        if (locks) locks.request(key, { signal: limited(wait) }, hold).catch(start)
        else void start()
      })
    const result = turn.then(locked)
    turn = result.catch(ignore)
    return result
  }

  /** Runs alone, but aborts a refresh of this tab first, so that no login or logout waits for a server that hangs. */
  function aloneNow(run: () => Promise<SessionResult>): Promise<SessionResult> {
    refreshing?.abort()
    return alone(run)
  }

  /** Refreshes once for all requests of this tab that wait for it. */
  function renew(): Promise<void> {
    renewing ??= exchange(shared(), alone).finally(() => {
      renewing = undefined
    })
    return renewing
  }

  /** @param refresh - another one where the request has its turn: the user cannot confirm anything meanwhile */
  async function fetchAsUser(
    input: string | URL | Request,
    init?: RequestInit,
    refresh = renew,
  ): Promise<Response> {
    // Other objects are sent to where their string says, whatever their `url` is.
    let request = input instanceof Request && input
    const target = new URL(request ? request.url : input, base)
    if (target.origin !== base.origin) throw new TypeError(`${target.origin} is not ${base.origin}`)
    await ready
    const id = user()
    if (left() < enough) await refresh()
    if (user() && user() !== id) throw failure('Another user has logged in.', 401)
    const tried: boolean[] = []
    for (;;) {
      const seen = shared()
      const sent = request || target
      // The body of a request can be read once, and is not used if `init` has another one.
      if (request && id && !init?.body) request = request.clone()
      const response = await send(sent, init)
      if (response.status !== 401 || !id || user() !== id) return response
      const challenge = response.headers.get('www-authenticate') ?? ''
      const isStepUp = challenge.includes('insufficient_user_auth')
      if (tried.includes(isStepUp)) return response
      // Otherwise another request has refreshed, or asked the user, since this one was sent.
      if (shared() === seen) {
        tried.push(isStepUp)
        if (!isStepUp) await refresh()
        else if (refresh !== renew || !(await stepUp(challenge))) return response
      }
      if (isStream(init?.body) || user() !== id) return response
    }
  }

  /** Asks once for all requests of this tab that wait for it. */
  function stepUp(challenge: string): Promise<unknown> {
    const maxAge = Number(/max_age="(\d+)/.exec(challenge)?.[1]) || null
    const ask = async () => onStepUp?.({ mfa: challenge.includes('acr_values'), maxAge })
    return (steppingUp ??= ask().finally(() => void (steppingUp = undefined)))
  }

  function post(route: string, body?: object): Promise<SessionResult> {
    const isLogin = route.startsWith('login')
    const isConfirmed = /factor\/(enable|confirm)/.test(route)
    const changes =
      isConfirmed || /^login(?!.*options)|finish|password\/change|account\/delete/.test(route)
    const run = (refresh?: typeof renew) =>
      call(
        route === 'login' ? loginUrl : new URL(route.replace(/^login/, path), path),
        () => body,
        // Without an answer, the account was created, but its user has to log in.
        (answer, sent) =>
          route === 'account/delete'
            ? end('logout')
            : changes && answer && keep(answer, sent, isConfirmed ? user() : undefined),
        isLogin ? send : (input, init) => fetchAsUser(input, init, refresh),
      )
    // The others may take as long as a mail: no login waits for them. Who has its turn refreshes in it.
    if (!changes) return run()
    return (isLogin ? aloneNow : alone)(() => run(() => exchange(shared(), (go) => go())))
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
    url: path,
    fetch: fetchAsUser,
    logIn: (body) => post('login', body),
    post,
    get: (route) => post(route),
    link: (provider, body = {}) =>
      call(`${path}/${provider}/link`, () => body, ignore, fetchAsUser),
    logOut: ({ everywhere = false } = {}) =>
      aloneNow(async () => {
        const result = await call(
          new URL('logout', path),
          () => withToken({ everywhere }),
          () => end('logout'),
        )
        if (result.status !== 401) return result
        // There is no such session: that user is logged out, but nowhere else.
        await end('logout')
        return everywhere ? result : { ...result, ok: true, error: null }
      }),
    async refresh() {
      await ready
      await renew()
      return user() !== ''
    },
    close: () => closed.abort(),
  }
}

/** Aborts it after so many milliseconds. React Native has no `AbortSignal.timeout`. */
function limited(milliseconds: number, stop = new AbortController()): AbortSignal {
  const abort = (): void => stop.abort()
  if (AbortSignal.timeout) AbortSignal.timeout(milliseconds).addEventListener('abort', abort)
  else setTimeout(abort, milliseconds)
  return stop.signal
}

/** The message of a response: by default its `error`; Fastify's own errors have it in `message`. */
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
