/**
 * The session of a page or an app. At run time it imports nothing: browsers load it as it is built.
 * @module fastify-authn/browser
 */

import type { Session, SessionOptions, SessionResult, StepUp } from '../../types/browser.js'
import { call, failure, persist, type Answer, type Send } from './call.js'
import { idOf, leftOf, shareEntry } from './entry.js'
import { asUser } from './fetch.js'
import { ignore, limited, shareRuns, surroundings } from './surroundings.js'
import { stepUps, type Ask } from './step-up.js'
import { takeTurns } from './turns.js'

export type * from '../../types/browser.js'
export type * from '../../types/browser-routes/accounts.js'
export type * from '../../types/browser-routes/mail-login.js'
export type * from '../../types/browser-routes/passkeys.js'
export type * from '../../types/browser-routes/second-factor.js'
export type * from '../../types/browser-routes/users.js'

/**
 * Keeps a user logged in: in a page by cookies, in an app by `tokens`. The server needs the option `sessions`.
 * @throws TypeError if `url` or `login` is no address, or if `url` is missing outside of a browser
 */
export function createSession({
  url = '/',
  login = '/login',
  tokens,
  onChange,
  onStepUp,
}: SessionOptions = {}): Session {
  const here = surroundings.location?.origin
  const base = new URL(url, here)
  const loginUrl = new URL(login, base).href
  const path = loginUrl.replace(/\/+$/, '')
  const key = tokens ? '' : `fastify-authn ${loginUrl}`
  const credentials = tokens ? 'omit' : base.origin === here ? 'same-origin' : 'include'
  const closed = new AbortController()
  const { signal } = closed
  const shared = shareEntry(key)
  const user = () => idOf(shared())
  let known = user()
  let accessToken = ''
  let refreshing: AbortController | undefined // Aborts the refresh of this tab.

  const tellChange = (): void => {
    const id = user()
    if (id === known) return
    known = id
    // If another tab has logged in without a lock, the cookies of this refresh would replace the new ones.
    refreshing?.abort()
    const reason = id ? 'login' : ((shared() || 'logout') as 'logout' | 'expired')
    // The callback runs as a microtask, so that an error of the app breaks nothing here.
    queueMicrotask(() => signal.aborted || onChange?.({ loggedIn: !!id, reason }))
  }

  /** @param id - of the login that goes on; a falsy value for a new one */
  const keep = async (answer: Answer, sent: number, id: string | false): Promise<void> => {
    const { token, refreshToken, expiresIn } = answer
    if (tokens) {
      // A server with the option `cookies` responds so. If it were stored, it would replace a token that works.
      if (!token || !refreshToken) throw failure('The response has no tokens.', 200)
      await tokens.set(refreshToken)
      accessToken = token
    }
    shared(`${id || Math.random()} ${sent + (expiresIn ?? Infinity) * 1000}`)
    tellChange()
  }

  const end = async (reason: 'logout' | 'expired'): Promise<undefined> => {
    accessToken = ''
    shared(reason)
    tellChange()
    // If that fails, the token that is left there is revoked.
    await (async () => tokens?.set(null))().catch(ignore)
  }

  const ready = (async () => {
    if (!tokens) return
    shared(' 0') // If it cannot be read, there may be a token: the next request asks again.
    known = idOf(shared((await tokens.get()) ? '0 0' : ''))
  })().catch(ignore)
  const alone = takeTurns(key, ready)

  const send: Send = (input, init) => {
    const headers = new Headers(init?.headers ?? (input as Partial<Request>).headers)
    if (accessToken) headers.set('authorization', `Bearer ${accessToken}`)
    if (tokens) headers.set('token-delivery', 'body')
    return fetch(input, { credentials, ...init, headers })
  }

  const withToken = async (more?: object): Promise<object> => ({
    ...more,
    refreshToken: (await tokens?.get()) ?? undefined,
  })

  /** @param inTurn - runs one attempt while nothing else changes the session. Logins go first between two attempts */
  const exchange = async (inTurn: typeof alone): Promise<boolean> => {
    const seen = shared()
    await persist(() => {
      const stop = (refreshing = new AbortController())
      return inTurn(async () => {
        // Another tab has refreshed or logged out while this one waited.
        if (shared() !== seen) return undefined
        const id = user()
        // The repetition a second later must come within the default `grace` of 10 seconds.
        limited(8000, stop)
        const done = (answer: Answer | null, sent: number) =>
          id === user() && keep(answer as Answer, sent, id)
        const refreshed = await call(send, `${path}/refresh`, withToken(), done, stop)
        if (refreshed.ok || user() !== id) return undefined
        return refreshed.status === 401 || (tokens && refreshed.status === 400)
          ? end('expired')
          : refreshed
        // Two refreshes at once are harmless: the `grace` of the server gives both the same tokens.
      }, 5000)
    })
    return !!user()
  }
  const renew = shareRuns(() => exchange(alone))

  /** The id of the login that a confirmation, or a second factor that was switched on, has renewed last. */
  let confirmed: string | false | undefined
  const confirm = (proof?: object) => request('login/confirm', proof)
  const tell = async (needs: StepUp) => {
    const id = user()
    confirmed = ''
    await onStepUp?.(needs)
    return id === user() && id === confirmed
  }
  const stepUp = stepUps(confirm, onStepUp && tell)
  const fetches = asUser(base, ready, shared, user, send)
  const fetchLater = fetches(renew, stepUp)

  /** @param ask - asks the user after it had its turn, so that what they confirm can have one */
  const request = async (route: string, body?: object, ask?: Ask): Promise<SessionResult> => {
    const isLogout = route === 'logout'
    // Logins, which are one step below `login/`, …/finish, second-factor/enable, password/change and account/delete. A
    // test compares it with the routes of the server. `login/mail` only asks for an e-mail.
    const changes = body && /^log(?!.*(\/.*\/|mail$))|finish|enable|d.change|delete/.test(route)
    const isDirect = changes && /^log(?!.*confirm)/.test(route)
    let asked: Promise<unknown> | undefined
    const fetchNow = fetches(
      changes ? () => exchange((go) => go()) : renew,
      () => ask && ((challenge) => void (asked = ask(challenge).catch(ignore))),
    )
    const run = async (): Promise<SessionResult> => {
      const result = await call(
        isDirect ? send : fetchNow,
        route === 'login' ? loginUrl : new URL(route.replace(/^login/, path), path),
        isLogout ? withToken(body) : body,
        (answer, sent) =>
          isLogout || /delete/.test(route)
            ? end('logout')
            : // Without an answer, the account was created, but its user has to log in.
              changes &&
              answer &&
              keep(answer, sent, (confirmed = /confirm|enable/.test(route) && user())),
      )
      if (!isLogout || result.status !== 401) return result
      await end('logout')
      // There is no such session: that user is logged out, but nowhere else.
      return (body as { everywhere?: boolean }).everywhere
        ? result
        : { ...result, ok: true, error: null }
    }
    if (isDirect) refreshing?.abort()
    // The others may take as long as a mail: no login waits for them.
    const result = await (changes ? alone(run) : run())
    return (await asked) ? request(route, body) : result
  }

  const show = (): void => {
    if (surroundings.document?.hidden) return
    tellChange()
    if (leftOf(shared()) < 0) renew().catch(ignore)
  }
  surroundings.addEventListener?.('storage', tellChange, { signal })
  surroundings.document?.addEventListener('visibilitychange', show, { signal })

  return {
    get loggedIn() {
      return !!user()
    },
    ready,
    url: path,
    fetch: fetchLater,
    logIn: (body = {}) => request('login', body),
    mailLogin: (email) => request('login/mail', { email }),
    finishMailLogin: (mail) => request('login/mail/finish', mail),
    post: (route, body: object = {}) => request(route, body, stepUp()),
    get: request,
    confirm: (proof) => confirm(Object(proof) as object),
    link: (provider, body = {}) => call(fetchLater, `${path}/${provider}/link`, body, ignore),
    logOut: ({ everywhere } = {}) => request('logout', { everywhere }),
    refresh: () => ready.then(renew),
    close: () => closed.abort(),
  }
}
