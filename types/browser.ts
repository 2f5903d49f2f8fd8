// This file names no types of Fastify or Node: pages compile it with those of the DOM alone.
import type { MailLoginFields } from './browser-routes/mail-login.js'

/** The options of `createSession`. */
export interface SessionOptions {
  /**
   * The address of the API, such as `https://api.shop.example`. Default: the origin of the page. Outside of a browser it is
   * required.
   */
  readonly url?: string | undefined
  /** The path of the login route. Those of refresh, logout and accounts follow from it. Default `'/login'`. */
  readonly login?: string | undefined
  /**
   * The place where an app without cookies keeps its refresh token, such as the keychain of a phone. If its server has the
   * option `cookies`, it needs `cookies.apps`. Default: tokens are in cookies that no script can read.
   */
  readonly tokens?: TokenStorage | undefined
  /** Called after a user has logged in or out, in this tab or in another one of this browser. Default: none. */
  readonly onChange?: ((change: SessionChange) => void) | undefined
  /**
   * Called when a route asks for more than the login of this session: `fetch` and `post` wait for it. Let the user confirm by
   * `confirm` of the session or of the passkeys: after that, the request is repeated, whatever this function returns. Otherwise, or
   * after another login, the 401 is returned. One call serves all requests that wait; those that are sent while it runs get their 401.
   * Default: none.
   */
  readonly onStepUp?: ((needs: StepUp) => unknown) | undefined
}

/** What is asked for by a 401 that `onStepUp` is called for. */
export interface StepUp {
  /** Whether it takes more than one factor. */
  readonly mfa: boolean
  /** Seconds since the user was authenticated, at most; null if that does not matter. */
  readonly maxAge: number | null
  /**
   * How the user can confirm it: `password`, `code`, `passkey`, `mail`, or a provider such as `provider:google`. If it is
   * empty, the user has to log in again, or the server could not be asked.
   */
  readonly methods: readonly ConfirmMethod[]
}

/** A way to confirm that it is the user of the session. */
export type ConfirmMethod = 'password' | 'code' | 'passkey' | 'mail' | `provider:${string}`

/**
 * What `confirm` sends: the password, a code or a recovery code, or what an e-mail of `mailLogin` has; that of a passkey
 * comes from `confirm()` of the passkeys.
 */
export type Proof =
  | {
      /** The password of the user. */
      readonly password: string
    }
  | Pick<FactorFields, 'code'>
  | Pick<FactorFields, 'token' | 'response'>
  | MailProof

/** What shows that an e-mail was read: the token of its link, or its code with the token of the request for it. */
export type MailProof = Pick<MailLoginFields, 'token' | 'code'>

/** The `body` of `get('login/confirm')`. */
export interface Confirmed {
  /** When the user was authenticated, as an ISO date; missing where that is not known. */
  readonly authenticated?: string
  /** Whether it was by more than one factor. */
  readonly mfa: boolean
  /** By what the user can prove more. */
  readonly methods: {
    /** What would make the session fresh. */
    readonly fresh: readonly ConfirmMethod[]
    /** What would make it one of several factors, and fresh. */
    readonly mfa: readonly ConfirmMethod[]
  }
}

/** The members of the bodies of requests to the routes of the options `secondFactor` and `passkeys`. */
export interface FactorFields {
  /** The token of the response before: of the login, the setup or the challenge. */
  token: string
  /** Six digits that an authenticator app shows, or a recovery code. */
  code: string
  /** Whether this device needs no code for some time, where the server allows that. Default false. */
  remember?: boolean
  /** What the browser has made of a challenge, as JSON. */
  response: object
  /** The id of a passkey. */
  id: string
  /** What the user calls a passkey, at most 64 characters. */
  name: string
}

/** The routes that `session.post()` takes, with the members of their bodies. Each feature adds its own. */
export interface PostBodies {}

/** The routes that `session.get()` takes. Each feature adds its own. */
export interface GetRoutes {
  /** What this session has proved: {@link Confirmed}. */
  'login/confirm': true
}

/** Keeps one refresh token, and nothing else. */
export interface TokenStorage {
  /** Reads the refresh token; a falsy value where there is none. If it fails, the next request asks again. */
  get(): string | null | undefined | Promise<string | null | undefined>
  /**
   * Keeps a refresh token, or deletes the one that is kept. It is awaited before the new tokens are used, and before the
   * next refresh, login or logout: no two calls overlap.
   */
  set(refreshToken: string | null): unknown
}

/** The change that `onChange` is called with. */
export interface SessionChange {
  /** Whether a user is logged in now. */
  readonly loggedIn: boolean
  /** The reason of the change. `expired` also stands for a session that was revoked elsewhere. */
  readonly reason: 'login' | 'logout' | 'expired'
}

/** The result of `logIn`, `mailLogin`, `post`, `link` or `logOut`. */
export interface SessionResult {
  /** Whether the server has done what was asked for. */
  readonly ok: boolean
  /** The HTTP status; 0 when the server cannot be reached. */
  readonly status: number
  /** The message to show to the user; null if `ok`. The server writes it in the language of the user. */
  readonly error: string | null
  /** The JSON of the response; null where it has none. */
  readonly body: unknown
  /** Seconds after which to try again, if the server says so. */
  readonly retryAfter: number | null
}

/** The error of `fetch` and `refresh` if the session could not be refreshed. The user is still logged in. */
export interface SessionError extends Error {
  /** The HTTP status of the refresh; 0 when the server cannot be reached. */
  readonly status: number
  /** Seconds after which to try again, if the server says so. */
  readonly retryAfter: number | null
}

/** The session of a page or an app. Its functions work without `this`. */
export interface Session {
  /** Whether a user is logged in, as far as this browser knows. With `tokens`, not before `ready`. */
  readonly loggedIn: boolean
  /** Resolves when `loggedIn` is known; with cookies at once. It never rejects. */
  readonly ready: Promise<void>
  /** The address of the login route, beside which the others are. */
  readonly url: string
  /**
   * Sends a request like `fetch`, as the user. Refreshes the token first if it has less than 10 seconds left, and after a 401, which
   * repeats the request once, unless `init.body` is a stream. A `Request` is cloned for that. Where the 401 asks the user to confirm
   * that it is them, `onStepUp` is called in place of the refresh.
   *
   * @param input - an address, resolved against `url`
   * @throws (rejects) TypeError for another origin, or where `fetch` does; {@link SessionError} if the session could not
   * be refreshed, or if another user has logged in meanwhile (status 401); what `onStepUp` throws
   */
  fetch(input: string | URL | Request, init?: RequestInit): Promise<Response>
  /**
   * Logs in. The status 202 asks for a code, and no session has begun: send it with `body.secondFactor.token` to
   * `post('login/second-factor', …)`.
   *
   * @param body - the fields that the login route expects, by default `username` and `password`
   */
  logIn(body?: object): Promise<SessionResult>
  /**
   * Asks for an e-mail with a link and a code to log in. The status is 202 whether or not one is sent, and no session has
   * begun. The `body`, an `AskedMail`, has the `token` with which the code works.
   *
   * @param email - the address of a mailbox
   */
  mailLogin(email: string): Promise<SessionResult>
  /**
   * Logs in by such an e-mail. The status 202 asks for a code of the second factor, as that of `logIn` does. A wrong code is
   * a 403; an e-mail that was used or has expired is a 401.
   *
   * @param proof - the token of the link, or the code with the token of the response to `mailLogin`
   */
  finishMailLogin(proof: MailProof): Promise<SessionResult>
  /**
   * Sends a request to a route of the options `accounts`, `secondFactor` or `passkeys`, as the user if one is logged in. After those that
   * respond as a login does, the user is logged in.
   *
   * @param body - its members, and others that functions of the app read. Where none is required: default `{}`
   */
  post<Route extends keyof PostBodies>(
    route: Route,
    ...body: object extends PostBodies[Route]
      ? [body?: PostBodies[Route] & { [more: string]: unknown }]
      : [body: PostBodies[Route] & { [more: string]: unknown }]
  ): Promise<SessionResult>
  /**
   * Reads whether the second factor is on, the passkeys, or what this session has proved ({@link Confirmed}).
   *
   * @param route - of the option `sessions` or of a feature
   */
  get(route: keyof GetRoutes): Promise<SessionResult>
  /**
   * Has the user of the session prove once more that it is them: another session takes the place of this one, on the same
   * device. A wrong password or code is a 403, and the fifth ends the session.
   *
   * @param proof - one of them, of an e-mail as `finishMailLogin` takes it; `confirm()` of the passkeys is another way
   */
  confirm(proof: Proof): Promise<SessionResult>
  /**
   * Begins to link an account at a provider to the user who is logged in. If `ok`, the page has to open the `location` of
   * the `body`. For pages with cookies only.
   *
   * @param provider - its name in the option `loginWith`
   * @param options - `returnTo`: the path of the page that opens then
   */
  link(provider: string, options?: { returnTo?: string | undefined }): Promise<SessionResult>
  /**
   * Logs out. If the server does not confirm it, the user is still logged in.
   *
   * @param options - `everywhere` revokes all sessions of the user. Default false
   */
  logOut(options?: { everywhere?: boolean }): Promise<SessionResult>
  /**
   * Refreshes the token now. Also finds the session of a login that this page has not seen, such as one with a provider.
   *
   * @returns a promise of whether a user is logged in
   * @throws (rejects) {@link SessionError}, after about 4 seconds; later if the server asks for up to 10 seconds between
   * attempts, and at once if it asks for more
   */
  refresh(): Promise<boolean>
  /** Stops listening to other tabs, and calling `onChange`. */
  close(): void
}
