import { createHash } from 'node:crypto'
import { wrongOption } from '../../errors.js'
import { defaults } from '../../options/resolve.js'
import type {
  FoundSession,
  NewSession,
  SessionChoice,
  SessionEnd,
  SessionStore,
  SessionStoreFactory,
  SessionWatcher,
  StoredSession,
  StoreTime,
  Swap,
  Swapped,
} from '../../../types/sessions.js'
import { EndFeed, type EndPage } from './end-feed.js'
import { inTime, StoreClock } from './patience.js'
import { RedisKeys, type RedisClient } from './redis-client.js'
import type { ScriptName } from './redis-scripts.js'

/** A session as the scripts return it: what never changes as JSON, then when it began, was used, and ends. */
type Row = readonly [about: string, created: string, used: string, ends: string]
type SwapRow =
  | readonly ['late' | 'unknown']
  | readonly [outcome: 'swapped' | 'repeated' | 'reused', now: string, row: Row, sealed?: string]

/**
 * Keeps sessions in Redis 6 or later, or what understands its Lua scripts, such as Valkey.
 *
 * @param client - a client of ioredis, which stays the app's own: it is never configured, and never closed. A second
 * connection is made with its `duplicate()`, on which Redis tells what other processes have ended
 * @param options - `prefix`: what all keys and channels begin with, default `fastify-authn`: letters, digits and
 * `_ . : -`, at most 64 of them
 * @throws ERR_AUTH_OPTION for another client, or a prefix that does not fit
 */
export function redisSessions(
  client: object,
  options: { readonly prefix?: string | undefined } = {},
): SessionStoreFactory {
  const { prefix = defaults.redisSessions.prefix } = options
  if (!isClient(client)) {
    wrongOption(
      'redisSessions(client): found something else than a client of ioredis, which has the methods evalsha, eval and duplicate. Expected: redisSessions(new Redis(url)).',
    )
  }
  if (typeof prefix !== 'string' || !/^[\w.:-]{1,64}$/.test(prefix)) {
    wrongOption(
      `redisSessions(client, { prefix }): found ${JSON.stringify(prefix)}, expected 1 to 64 letters, digits and _ . : -`,
    )
  }
  return {
    prefix,
    isLocal: false,
    // The braces make a hash tag: see the scripts.
    open: (name) => new RedisSessions(new RedisKeys(client, `{${prefix}:${keyPart(name)}}`)),
  }
}

function isClient(client: unknown): client is RedisClient {
  const methods = ['evalsha', 'eval', 'duplicate'] as const
  return methods.every(
    (method) => typeof (client as RedisClient | undefined)?.[method] === 'function',
  )
}

/** A name without what has a meaning in keys. Different names stay different. */
function keyPart(name: string): string {
  return name.replaceAll(/[^\w.-]/gu, (character) => `%${character.codePointAt(0)?.toString(16)};`)
}

/** The part of a key that names a user: a digest, since names may be long and have any characters. */
function ownerOf(sub: string): string {
  return createHash('sha256').update(JSON.stringify(sub)).digest('base64url')
}

class RedisSessions implements SessionStore {
  readonly #keys: RedisKeys
  readonly #clock = new StoreClock()
  readonly #feed = new EndFeed('Redis', (cursor) => this.#ends(cursor))
  #stopListening: (() => void) | null = null

  constructor(keys: RedisKeys) {
    this.#keys = keys
  }

  async create(session: NewSession): Promise<StoreTime> {
    const { handle, current, lifetime, idle, ...about } = session
    const { sid, sub } = about
    const json = JSON.stringify(about)
    const texts = [handle, current, sid, ownerOf(sub), json]
    const deadline = this.#clock.deadline() ?? ''
    const now = await this.#run('create', ...texts, lifetime, idle, deadline)
    return { now: Number(now) }
  }

  async find(handle: string): Promise<FoundSession> {
    const [now, row] = (await this.#run('find', handle)) as [string, Row | null]
    this.#clock.heard(Number(now))
    return { session: row && sessionOf(row), now: Number(now) }
  }

  async swap(swap: Swap): Promise<Swapped> {
    const { handle, presented, next, sealed, grace, idle, deadline, keepEnd } = swap
    const values = [handle, presented, next, sealed, grace, idle, deadline, keepEnd]
    const patience = this.#clock.patienceUntil(deadline)
    return swappedOf((await this.#ask('swap', values, patience)) as SwapRow)
  }

  async end(which: SessionChoice, keepEnd: number): Promise<SessionEnd[]> {
    if ('sid' in which) {
      return ((await this.#run('endSid', which.sid, keepEnd)) as string[]).map(endOf)
    }
    const ended: SessionEnd[] = []
    for (let more = '1'; more === '1';) {
      const answer = await this.#run('endOwner', ownerOf(which.sub), keepEnd)
      const [mayBeMore, members] = answer as [string, string[]]
      ended.push(...members.map(endOf))
      more = mayBeMore
    }
    return ended
  }

  async list(sub: string): Promise<StoredSession[]> {
    const rows = (await this.#run('list', ownerOf(sub))) as Row[]
    return rows.map(sessionOf).toSorted((one, other) => other.created - one.created)
  }

  async watch(watcher: SessionWatcher): Promise<void> {
    this.#stopListening = this.#keys.listen(() => this.#feed.hint())
    this.#feed.start(watcher)
  }

  async close(): Promise<void> {
    this.#feed.stop()
    this.#stopListening?.()
    this.#stopListening = null
  }

  async #ends(cursor: string | null): Promise<EndPage> {
    const [now, members] = (await this.#keys.run('ends', cursor ?? '')) as [string, string[]]
    this.#clock.heard(Number(now))
    return { ends: members.map(endOf), now: Number(now), cursor: now }
  }

  #run(name: ScriptName, ...values: (string | number)[]): Promise<unknown> {
    return this.#ask(name, values)
  }

  #ask(name: ScriptName, values: (string | number)[], milliseconds?: number): Promise<unknown> {
    return inTime('Redis', () => this.#keys.run(name, ...values), milliseconds)
  }
}

function sessionOf([about, created, lastUsed, endsAt]: Row): StoredSession {
  return {
    ...(JSON.parse(about) as Pick<NewSession, 'sid' | 'sub' | 'address' | 'userAgent' | 'data'>),
    created: Number(created),
    lastUsed: Number(lastUsed),
    endsAt: Number(endsAt),
  }
}

function endOf(member: string): SessionEnd {
  const at = member.indexOf(':')
  return { sid: member.slice(at + 1), until: Number(member.slice(0, at)) }
}

function swappedOf([outcome, ...rest]: SwapRow): Swapped {
  if (rest.length === 0) return { outcome } as Swapped
  const [now, row, sealed] = rest
  const common = { session: sessionOf(row), now: Number(now) }
  return (sealed === undefined ? { outcome, ...common } : { outcome, ...common, sealed }) as Swapped
}
