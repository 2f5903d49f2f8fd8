import { randomBytes, randomUUID } from 'node:crypto'
import type {
  NewSession,
  Revocation,
  SessionStore,
  SessionStoreFactory,
  Swap,
} from '../../../types/sessions.js'

/**
 * Makes the store that is tried, as another process would: with connections of its own, and every time over the same
 * place.
 *
 * @param prefix - for the option `prefix`. Two are used, to see that they are told apart
 */
export type MakeStore<Factory = SessionStoreFactory> = (
  prefix: 'suite_one' | 'suite_two',
) => Factory | Promise<Factory>

/** A random text in the form of a digest. */
export const digest = (): string => randomBytes(32).toString('base64url')

export const sleep = (seconds: number): Promise<void> =>
  new Promise((resolve) => setTimeout(resolve, seconds * 1000))

/** What a store has told, with the time by our clock. */
export interface Told {
  readonly revocations: Map<string, Revocation>
  caughtUp: number
  readonly lost: unknown[]
}

type Prefix = Parameters<MakeStore>[0]

/** A factory of stores of sessions, or of API keys. */
interface Factory<Store> {
  readonly isLocal: boolean
  open(name: string): Store
}

/** Finds the factory of a process: 0 or 1. */
type FactoryOf<Store> = (prefix: Prefix, process: number) => Promise<Factory<Store>>

/** Makes each factory once, so that not every case opens connections. A store in memory has one process only. */
function factoriesOf<Store>(make: MakeStore<Factory<Store>>): FactoryOf<Store> {
  const made = new Map<string, ReturnType<typeof make>>()
  const once = (prefix: Prefix, process: number): ReturnType<typeof make> => {
    const key = `${prefix} ${process}`
    const factory = made.get(key) ?? make(prefix)
    made.set(key, factory)
    return factory
  }
  return async (prefix, process) => {
    const first = await once(prefix, 0)
    return first.isLocal || process === 0 ? first : once(prefix, process)
  }
}

/** What a case works with. */
export class StoreBench<Store extends object = SessionStore> {
  readonly #factoryOf: FactoryOf<Store>
  readonly #opened: Store[] = []
  readonly #name = `case-${randomUUID()}`

  constructor(factoryOf: FactoryOf<Store>) {
    this.#factoryOf = factoryOf
  }

  /** Opens the records of this case, by turns as two processes would. */
  async open(): Promise<Store> {
    return this.openAs(this.#name, 'suite_one', this.#opened.length % 2)
  }

  async openAs(name: string, prefix: Prefix = 'suite_one', process = 0): Promise<Store> {
    const store = (await this.#factoryOf(prefix, process)).open(name)
    this.#opened.push(store)
    return store
  }

  async close(): Promise<void> {
    for (const store of this.#opened) await (store as Partial<SessionStore>).close?.()
  }

  /** Watches a store until everything has been told. */
  async watch(store: SessionStore): Promise<Told> {
    const told: Told = { revocations: new Map(), caughtUp: 0, lost: [] }
    store.watch({
      revoked: (list) => list.forEach((each) => told.revocations.set(each.sid, each)),
      caughtUp: () => void (told.caughtUp += 1),
      lost: (error) => void told.lost.push(error),
    })
    await until(() => told.caughtUp > 0, 'everything that was revoked before is reported')
    return told
  }
}

/** Waits until a condition holds. The limit is for slow machines: a case that needs speed measures it itself. */
export async function until(condition: () => boolean, what: string, seconds = 5): Promise<void> {
  const end = performance.now() + seconds * 1000
  while (!condition()) {
    if (performance.now() > end) throw new Error(`not within ${seconds} s: ${what}`)
    await sleep(0.005)
  }
}

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
    ...given,
  }
}

/** The use of a token, by default of the first one of a session. */
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

/** Cases by what they hold. */
export type Cases<Store extends object = SessionStore> = Readonly<
  Record<string, (bench: StoreBench<Store>) => Promise<void>>
>

/** One test of {@link sessionStoreSuite} or {@link apiKeyStoreSuite}. */
export interface StoreCase {
  /** What it holds, in words. */
  readonly name: string
  /** Runs it. Rejects with an `AssertionError` where the store does something else. */
  run(): Promise<void>
}

export function runsOf<Store extends object>(
  make: MakeStore<Factory<Store>>,
  cases: Cases<Store>,
): readonly StoreCase[] {
  const factoryOf = factoriesOf(make)
  return Object.entries(cases).map(([name, test]) => ({
    name,
    async run() {
      const bench = new StoreBench(factoryOf)
      try {
        await test(bench)
      } finally {
        await bench.close()
      }
    },
  }))
}
