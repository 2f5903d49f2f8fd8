import type { FastifyInstance } from 'fastify'
import type { Test } from 'tap'
import { channels, type AuthnChannels, type AuthnOptions } from '../../lib/index.js'
import { memorySessions } from '../../lib/sessions/index.js'
import { appWith, bearer, passwords, standardOptions, type TestApp } from './app.js'
import { clientOver, type Headers } from './client.js'
import type { AnyResponse } from './flows.js'
import type { SessionStore, SessionStoreFactory, SessionWatcher } from '../../lib/sessions/index.js'

/** What a login or a refresh answers. */
export interface Pair {
  readonly token: string
  readonly refreshToken: string
  readonly expiresIn: number
}

/** A store in memory that several apps may share as if they were processes, and its clock. */
export function heldStore() {
  let now = 1_800_000_000
  return {
    factory: memorySessions({ now: () => now }),
    advance(seconds: number) {
      now += seconds
    },
  }
}

/** A store that does what another one does, but for some of its methods. */
export function storeWith(
  change: (store: SessionStore) => Partial<SessionStore>,
  factory = heldStore().factory,
): SessionStoreFactory {
  return {
    ...factory,
    open(name) {
      const store = factory.open(name)
      return { ...store, ...change(store) }
    },
  }
}

/** A store that a test takes away, and that counts what it is asked. */
export function breakable(factory: SessionStoreFactory): {
  readonly factory: SessionStoreFactory
  /** While it is set, no call of a store gets an answer but this error; `'never'`: none at all. */
  failure: Error | 'never' | null
  readonly calls: string[]
  readonly watchers: SessionWatcher[]
} {
  const state = {
    failure: null as Error | 'never' | null,
    calls: [] as string[],
    watchers: [] as SessionWatcher[],
  }
  const answer = <T>(method: string, call: () => Promise<T>): Promise<T> => {
    state.calls.push(method)
    if (state.failure === 'never') return new Promise(() => undefined)
    return state.failure === null ? call() : Promise.reject(state.failure)
  }
  const broken = storeWith(
    (store) => ({
      create: (session) => answer('create', () => store.create(session)),
      find: (handle) => answer('find', () => store.find(handle)),
      swap: (swap) => answer('swap', () => store.swap(swap)),
      revoke: (...args) => answer('revoke', () => store.revoke(...args)),
      list: (sub) => answer('list', () => store.list(sub)),
      watch: (watcher) => {
        state.watchers.push(watcher)
        if (state.failure === null) store.watch(watcher)
        else watcher.lost(state.failure)
      },
    }),
    factory,
  )
  return Object.assign(state, { factory: broken })
}

/** An app with sessions and a protected route `/me`. */
export function sessionApp(
  t: Test,
  options: Partial<AuthnOptions> = {},
  declare: (app: TestApp) => unknown = () => undefined,
  server: Parameters<typeof appWith>[3] = {},
): Promise<TestApp> {
  return appWith(
    t,
    { ...standardOptions(), sessions: true, ...options },
    (app) => {
      app.get('/me', { config: { auth: true } }, ({ user }) => ({
        name: (user as { name?: string }).name,
      }))
      return declare(app)
    },
    server,
  )
}

/** What clients of an app do. */
export function clientOf(app: FastifyInstance) {
  const { post, me } = clientOver(app)
  return {
    post,
    async login(headers?: Headers) {
      const alice = { username: 'alice', password: passwords.alice }
      return pairOf(await post('/login', alice, headers))
    },
    refresh: (refreshToken: string): Promise<AnyResponse> =>
      post('/login/refresh', { refreshToken }),
    me: (token: string) => me(bearer(token)),
  }
}

/** The tokens of a reply. */
export function pairOf({ statusCode, body }: AnyResponse): Pair {
  if (statusCode !== 200) throw new Error(`${statusCode}: ${body}`)
  return JSON.parse(body) as Pair
}

/** The claims of a token, which is not verified. */
export function claimsOf(token: string): Record<string, unknown> {
  return JSON.parse(Buffer.from(String(token.split('.')[1]), 'base64url').toString()) as Record<
    string,
    unknown
  >
}

type EventOf<Name extends keyof AuthnChannels> = Parameters<
  Parameters<AuthnChannels[Name]['subscribe']>[0]
>[0]

/** Collects what is published on a channel while a test runs. */
export function eventsOf<Name extends keyof AuthnChannels>(t: Test, name: Name): EventOf<Name>[] {
  const events: EventOf<Name>[] = []
  const listener = (event: EventOf<Name>): void => void events.push(event)
  const channel = channels[name]
  channel.subscribe(listener)
  t.teardown(() => channel.unsubscribe(listener))
  return events
}
