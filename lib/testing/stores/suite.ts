import assert from 'node:assert/strict'
import { randomBytes, randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import type {
  CreatedSession,
  NewSession,
  Revocation,
  SessionStore,
  SessionStoreFactory,
  Swap,
} from '../../../types/sessions.js'

/**
 * Makes the store that is tried, as another process would: with connections of its own, and every time over the same
 * place.
 * @param prefix - for the option `prefix`. Two are used, to see that they are told apart
 */
export type MakeStore<Factory = SessionStoreFactory> = (
  prefix: 'suite_one' | 'suite_two',
) => Factory | Promise<Factory>

/** A test of {@link sessionStoreSuite}, {@link apiKeyStoreSuite} or {@link userStoreSuite}. */
export interface StoreCase {
  /** The property that the test proves, in words. */
  readonly name: string
  /** Runs it. Rejects with an `AssertionError` where the store does something else. */
  run(): Promise<void>
}

interface Factory<Store> {
  readonly isLocal: boolean
  readonly once?: boolean | undefined
  open(name: string): Store
}

type Prefix = Parameters<MakeStore>[0]

/** Opens the records of a registration, by turns as two processes would. Default: those of the case. */
type Open<Store> = (name?: string, prefix?: Prefix) => Promise<Store>

/** Cases by what they hold. Each gets its records as two processes have them, and the factory that has opened them. */
export type Cases<Store = SessionStore> = Readonly<
  Record<
    string,
    (store: Store, other: Store, open: Open<Store>, factory: Factory<Store>) => Promise<void>
  >
>

export function storeCasesOf<Store extends object>(
  make: MakeStore<Factory<Store>>,
  cases: Cases<Store>,
): readonly StoreCase[] {
  const made = new Map<string, ReturnType<typeof make>>()
  /** Makes each factory once, so that not every case opens connections. */
  const factoryOf = (prefix: Prefix, process: number): ReturnType<typeof make> => {
    const key = `${prefix} ${process}`
    const factory = made.get(key) ?? make(prefix)
    made.set(key, factory)
    return factory
  }
  const runCase = async (test: Cases<Store>[string]): Promise<void> => {
    const ownName = `case-${randomUUID()}`
    const opened: Store[] = []
    const open: Open<Store> = async (name = ownName, prefix = 'suite_one') => {
      const first = await factoryOf(prefix, 0)
      // A store in memory has one process only.
      const process = first.isLocal ? 0 : opened.length % 2
      const store = (await factoryOf(prefix, process)).open(name)
      opened.push(store)
      return store
    }
    try {
      await test(await open(), await open(), open, await factoryOf('suite_one', 0))
    } finally {
      for (const store of opened) await (store as Partial<SessionStore>).close?.()
    }
  }
  return Object.entries(cases).map(([name, test]) => ({ name, run: () => runCase(test) }))
}

/** All that a store has reported to its watcher. */
export interface Told {
  readonly revocations: Map<string, Revocation>
  caughtUp: number
  readonly lost: unknown[]
}

/** Watches a store until everything has been told. */
export async function watchStore(store: SessionStore): Promise<Told> {
  const told: Told = { revocations: new Map(), caughtUp: 0, lost: [] }
  store.watch({
    revoked: (list) => list.forEach((each) => told.revocations.set(each.sid, each)),
    caughtUp: () => void (told.caughtUp += 1),
    lost: (error) => void told.lost.push(error),
  })
  await until(() => told.caughtUp > 0, 'everything that was revoked before is reported')
  return told
}

/** Waits until a condition holds. The limit is for slow machines: a case that needs speed measures it itself. */
export async function until(condition: () => boolean, what: string): Promise<void> {
  const end = performance.now() + 5000
  while (!condition()) {
    if (performance.now() > end) throw new Error(`not within 5 s: ${what}`)
    await sleep(5)
  }
}

/** The stores of two processes by turns, for calls at once. */
export const byTurns = <Store>(one: Store, other: Store, count = 200): Store[] =>
  Array.from({ length: count }, (_, index) => (index % 2 ? other : one))

export const digest = (): string => randomBytes(32).toString('base64url')

export function newSession(given: Partial<NewSession> = {}): NewSession {
  return {
    handle: digest(),
    sid: randomUUID(),
    sub: `user ${randomUUID()}`,
    current: digest(),
    lifetime: 100,
    idle: 50,
    address: '192.0.2.7',
    userAgent: 'Suite/1.0',
    data: '{"a":1}',
    revocationTtl: 60,
    maxPerUser: 1000,
    once: 0,
    ...given,
  }
}

/** Begins a session whose login may begin any number. */
export async function create(store: SessionStore, session: NewSession): Promise<CreatedSession> {
  const created = await store.create(session)
  assert.ok(created !== null, 'no login is rejected without "once"')
  return created
}

/** A session that was just begun in a store, and the time of the store. */
export async function begun(store: SessionStore, given?: Partial<NewSession>) {
  const session = newSession(given)
  return { session, ...(await create(store, session)) }
}

export function swapOf(session: NewSession, given: Partial<Swap> = {}): Swap {
  const next = given.next ?? digest()
  return {
    handle: session.handle,
    presented: session.current,
    next,
    sealed: `sealed ${next}`,
    grace: 20,
    idle: session.idle,
    deadline: Date.now() / 1000 + 600,
    revocationTtl: 60,
    ...given,
  }
}

/** Strings that can occur, and that mean something else to a database or a protocol. */
export const odd = [
  '',
  ' ',
  'null',
  `'; DROP TABLE "x"; --`,
  '$1 %s {} [] \\ \\\\ \\u0000 \\n',
  'Zoë 李雷 🦊 \u202e',
  '{"sid":1}',
  'x'.repeat(1024),
  '🦊'.repeat(512),
]

/** Checks times, to the millisecond. */
export const requireTime = (found: number | undefined, expected: number, what: string): void =>
  assert.ok(Math.abs((found ?? 0) - expected) < 0.001, `${what}: ${found} is not ${expected}`)

export const sidsOf = async (store: SessionStore, sub: string): Promise<string[]> =>
  (await store.list(sub)).map(({ sid }) => sid)

export async function requireGone(store: SessionStore, session: NewSession): Promise<void> {
  assert.equal((await store.find(session.handle)).session, null, 'it is not found')
  assert.deepEqual(await store.list(session.sub), [], 'it is not listed')
  assert.equal((await store.swap(swapOf(session))).outcome, 'unknown', 'it takes no token')
  assert.deepEqual(await store.revoke({ sid: session.sid }, 60), [], 'it cannot be revoked')
}
