// Apps and pages with `fastify-authn/browser`, without a browser: the network, the clock and what browsers have are the
// test's own.
import { EventEmitter, once } from 'node:events'
import { setImmediate as turn } from 'node:timers/promises'
import type { Test } from 'tap'
import { createSession, type Session, type SessionOptions } from '../../lib/browser/index.js'
import { cookiesOf } from './cookies.js'
import { sessionApp } from './sessions.js'
import type { TestApp } from './app.js'
import type { AuthnOptions } from '../../lib/index.js'

export const url = 'https://api.shop.example'

/** What a request gets; `reach` has the app answer it. */
export type Answer = (reach: () => Promise<Response>) => Promise<Response>

export const status =
  (status: number, headers: Record<string, string> = {}, body = '{}'): Answer =>
  async () =>
    new Response(body, { status, headers })
export const unauthorized = status(401)
export const offline: Answer = () => Promise.reject(new TypeError('offline'))
/** The server has done it, but nobody is told. */
export const lost: Answer = async (reach) => {
  await reach()
  throw new TypeError('the connection was lost')
}

/** An answer that comes when the test says so. */
export function held(answer: Answer = (reach) => reach()): { answer: Answer; release(): void } {
  const released = new EventEmitter()
  const promise = once(released, 'now')
  return {
    answer: (reach) => promise.then(() => answer(reach)),
    release: () => void released.emit('now'),
  }
}

/** Lets everything go on that needs no timer. */
export async function settle(): Promise<void> {
  for (let turns = 0; turns < 50; turns += 1) await turn()
}

interface Sent {
  readonly path: string
  readonly init: RequestInit & { headers: Headers }
  /** What was sent; undefined for a request without a body. */
  readonly text: string | undefined
  readonly body: Record<string, unknown>
}

/** Replaces members of `globalThis` until the test ends. */
export function replaceGlobals(t: Test, members: Record<string, PropertyDescriptor>): void {
  for (const [name, descriptor] of Object.entries(members)) {
    const before = Object.getOwnPropertyDescriptor(globalThis, name)
    Object.defineProperty(globalThis, name, { configurable: true, ...descriptor })
    t.teardown(() => {
      if (before) Object.defineProperty(globalThis, name, before)
      else Reflect.deleteProperty(globalThis, name)
    })
  }
}

/** The routes of accounts, with the responses that clients get; what they do is another matter. */
export function accountRoutes(app: TestApp): void {
  const auth = { config: { auth: true } } as const
  const { sessions } = app.authn as unknown as {
    sessions: Record<'begin' | 'revoke', (...args: unknown[]) => Promise<object>>
  }
  for (const path of ['/sign-up', '/password/forgot']) {
    app.post(path, (_, reply) => reply.code(202).send({}))
  }
  app.post('/sign-up/finish', (request, reply) => sessions.begin('alice', request, reply))
  app.post('/password/reset', (_, reply) => reply.code(204).send())
  app.post('/password/change', auth, async (request, reply) => {
    const { currentPassword } = request.body as { currentPassword?: string }
    if (currentPassword === 'wrong') return reply.code(403).send({ error: 'Wrong password.' })
    await sessions.revoke({ sub: 'alice' })
    return sessions.begin('alice', request, reply)
  })
  app.post('/email/change', auth, (_, reply) => reply.code(202).send({}))
  app.post('/email/confirm', auth, (_, reply) => reply.code(204).send())
  app.post('/account/delete', auth, async (_, reply) => {
    await sessions.revoke({ sub: 'alice' })
    return reply.code(204).send()
  })
}

/** An app, and clients of it whose timers of a second and longer fire at once. */
export async function setUp(
  t: Test,
  options: Partial<AuthnOptions> = {},
  declare: (app: TestApp) => unknown = () => undefined,
) {
  const app = await sessionApp(t, options, (app) => {
    app.post('/notes', { config: { auth: true } }, ({ user }) => user)
    if (!options.accounts) accountRoutes(app)
    return declare(app)
  })
  const state = {
    /** Milliseconds by which the clock is ahead. */
    ahead: 0,
    /** Requests that have ended, as `path status`. */
    log: [] as string[],
    sent: [] as Sent[],
    /** Seconds that were waited for. */
    waits: [] as number[],
    /** The limits of requests and of locks, in milliseconds. */
    limits: [] as number[],
    kept: null as string | null,
    changes: [] as string[],
  }
  const answers = new Map<string, Answer[]>()
  const jar = new Map<string, string>()
  /** By the responses on their way, the cookies that browsers keep when these arrive. */
  const carried = new WeakMap<Response, ReturnType<typeof cookiesOf>>()

  async function reach({ path, init, text }: Sent): Promise<Response> {
    const cookie = [...jar].map((pair) => pair.join('=')).join('; ')
    const isWithCookies = init.credentials !== 'omit' && cookie !== ''
    const reply = await app.inject({
      method: (init.method ?? 'GET') as 'GET',
      url: path,
      headers: { ...Object.fromEntries(init.headers), ...(isWithCookies && { cookie }) },
      ...(text !== undefined && { payload: text }),
    })
    const headers = new Headers()
    for (const name of ['retry-after', 'www-authenticate']) {
      if (reply.headers[name] !== undefined) headers.set(name, String(reply.headers[name]))
    }
    const response = new Response(reply.statusCode === 204 ? null : reply.body, {
      status: reply.statusCode,
      headers,
    })
    carried.set(response, cookiesOf(reply))
    return response
  }
  const [{ setTimeout: later }, now] = [globalThis, Date.now]
  replaceGlobals(t, {
    fetch: {
      value: async (input: string | URL | Request, init: Sent['init']) => {
        const request = new Request(input, {
          ...init,
          ...(init.body && { duplex: 'half' }),
        } as never)
        const path = request.url.replace(url, '')
        request.signal.throwIfAborted()
        const text = request.body === null ? undefined : await request.text()
        const body = text?.startsWith('{') ? (JSON.parse(text) as Sent['body']) : {}
        const method = init.method ?? request.method
        const sent = { path, init: { ...init, method, headers: request.headers }, text, body }
        state.sent.push(sent)
        const answer = answers.get(path)?.shift() ?? ((go: () => Promise<Response>) => go())
        const aborted = new Promise<never>((_, reject) => {
          request.signal.addEventListener('abort', () => reject(new Error('aborted')))
        })
        let status: number | 'failed' = 'failed'
        try {
          const response = await Promise.race([answer(() => reach(sent)), aborted])
          status = response.status
          for (const { name, value } of carried.get(response) ?? []) jar.set(name, value)
          return response
        } finally {
          state.log.push(`${path} ${status}`)
        }
      },
    },
    setTimeout: {
      value: (run: () => void, milliseconds: number) => {
        // The app has timers too, and the client has limits.
        const stack = String(new Error('where').stack)
        if (/limited .*lib.browser/.test(stack)) state.limits.push(milliseconds)
        const isWait = /sleep .*lib.browser/.test(stack)
        if (!isWait || milliseconds < 1000) return later(run, milliseconds)
        state.waits.push(milliseconds / 1000)
        return setImmediate(run)
      },
    },
  })
  Date.now = () => now() + state.ahead
  t.teardown(() => {
    Date.now = now
  })

  const tokens = {
    get: async () => state.kept,
    set: async (token: string | null) => void (state.kept = token),
  }
  return {
    app,
    state,
    jar,
    tokens,
    /** Opens a client, with tokens unless the options say otherwise. */
    open: (more: SessionOptions = {}): Session => {
      const session = createSession({
        url,
        tokens,
        onChange: ({ loggedIn, reason }) => state.changes.push(`${reason} ${loggedIn}`),
        ...more,
      })
      t.teardown(() => session.close())
      return session
    },
    /** What the next requests for a path get. */
    answer: (path: string, ...next: Answer[]) => void answers.set(path, next),
    /** The requests that have ended since the last call. */
    log: (): string[] => state.log.splice(0),
    refreshes: () => state.log.filter((entry) => entry.startsWith('/login/refresh')).length,
  }
}
