import { createHash } from 'node:crypto'
import { wrongOption } from '../../errors.js'
import type {
  CreatedSession,
  FoundSession,
  NewSession,
  Revocation,
  SessionChoice,
  SessionStore,
  SessionStoreFactory,
  SessionWatcher,
  StoredSession,
  Swap,
  Swapped,
} from '../../../types/sessions.js'
import { RedisKeys, type RedisClient } from './redis-keys.js'
import { RevocationPoller, type RevocationPage } from './revocation-poller.js'

/** A session as the scripts return it. `about` is JSON of the members that do not change. */
type Row = readonly [about: string, created: string, used: string, ends: string]
type SwapRow =
  | readonly ['late' | 'unknown']
  | readonly [outcome: 'swapped' | 'repeated' | 'reused', now: string, row: Row, sealed?: string]

/**
 * Keeps sessions in Redis 6 or later, or in a server that runs its Lua scripts, such as Valkey.
 *
 * @param client - a client of ioredis, which is neither configured nor closed. Its `duplicate()` makes a second
 * connection, on which Redis publishes what other processes have revoked
 * @param options - `prefix`: the name of the app, with which all keys and channels begin: letters, digits and `_ . : -`,
 * at most 64 of them. Apps that use the same Redis need different ones, or alice of the one could refresh as alice of
 * the other
 * @throws ERR_AUTH_OPTION for another client, or where the prefix is missing or does not fit
 */
export function redisSessions(
  client: object,
  options: { readonly prefix: string },
): SessionStoreFactory {
  if (!isClient(client)) {
    wrongOption(
      "redisSessions(client): found no client of ioredis, which has the methods evalsha, eval and duplicate. Expected: redisSessions(new Redis(url), { prefix: 'shop' }).",
    )
  }
  // JavaScript callers may leave the options out.
  const { prefix } = (options ?? {}) as Partial<typeof options>
  if (typeof prefix !== 'string' || !/^[\w.:-]{1,64}$/.test(prefix)) {
    return wrongOption(
      `redisSessions(client, { prefix }): found ${JSON.stringify(prefix)}, expected the name of the app, 1 to 64 letters, digits and _ . : -, as in redisSessions(client, { prefix: 'shop' }).`,
    )
  }
  return {
    prefix,
    isLocal: false,
    // The braces make a hash tag: see the scripts.
    open: (name) => new RedisSessions(new RedisKeys(client, `{${prefix}:${name}}`)),
  }
}

function isClient(client: unknown): client is RedisClient {
  const methods = ['evalsha', 'eval', 'duplicate'] as const
  return methods.every(
    (method) => typeof (client as RedisClient | undefined)?.[method] === 'function',
  )
}

/** The user's part of a key: a digest, since `sub` may be long and have any characters. */
function ownerOf(sub: string): string {
  return createHash('sha256').update(sub).digest('base64url')
}

class RedisSessions implements SessionStore {
  readonly #keys: RedisKeys
  readonly #poller = new RevocationPoller((cursor) => this.#revocations(cursor))
  #stopListening: (() => void) | null = null

  constructor(keys: RedisKeys) {
    this.#keys = keys
  }

  async create(session: NewSession): Promise<CreatedSession> {
    const { handle, current, lifetime, idle, revocationTtl, maxPerUser, ...about } = session
    const texts = [handle, current, about.sid, ownerOf(about.sub), JSON.stringify(about)]
    const values = [...texts, lifetime, idle, revocationTtl, maxPerUser]
    const [now, members] = (await this.#keys.run('create', ...values)) as [string, string[]]
    return { now: Number(now), revoked: members.map(revocationOf) }
  }

  async find(handle: string): Promise<FoundSession> {
    const [now, row] = (await this.#keys.run('find', handle)) as [string, Row | null]
    return { session: row && sessionOf(row), now: Number(now) }
  }

  async swap(swap: Swap): Promise<Swapped> {
    const { handle, presented, next, sealed, grace, idle, deadline, revocationTtl } = swap
    const values = [handle, presented, next, sealed, grace, idle, deadline, revocationTtl]
    const [outcome, ...rest] = (await this.#keys.run('swap', ...values)) as SwapRow
    if (rest.length === 0) return { outcome } as Swapped
    const [now, row, successor] = rest
    const swapped = { outcome, session: sessionOf(row), now: Number(now) }
    return (successor === undefined ? swapped : { ...swapped, sealed: successor }) as Swapped
  }

  async revoke(which: SessionChoice, revocationTtl: number): Promise<Revocation[]> {
    if ('sid' in which) {
      const members = await this.#keys.run('revokeSid', which.sid, revocationTtl)
      return (members as string[]).map(revocationOf)
    }
    const revoked: Revocation[] = []
    for (let mayBeMore = '1'; mayBeMore === '1';) {
      const answer = await this.#keys.run('revokeOwner', ownerOf(which.sub), revocationTtl)
      const [more, members] = answer as [string, string[]]
      revoked.push(...members.map(revocationOf))
      mayBeMore = more
    }
    return revoked
  }

  async list(sub: string): Promise<StoredSession[]> {
    const rows = (await this.#keys.run('list', ownerOf(sub))) as Row[]
    return rows.map(sessionOf).toSorted((one, other) => other.created - one.created)
  }

  watch(watcher: SessionWatcher): void {
    this.#stopListening = this.#keys.listen(() => this.#poller.hint())
    this.#poller.start(watcher)
  }

  async close(): Promise<void> {
    this.#poller.stop()
    this.#stopListening?.()
    this.#stopListening = null
  }

  async #revocations(cursor: string | null): Promise<RevocationPage> {
    const answer = await this.#keys.run('revocations', cursor ?? '')
    const [now, members] = answer as [string, string[]]
    return { revocations: members.map(revocationOf), now: Number(now), cursor: now }
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

function revocationOf(member: string): Revocation {
  const at = member.indexOf(':')
  return { sid: member.slice(at + 1), until: Number(member.slice(0, at)) }
}
