import { openRedis, runnerOf, type ScriptClient } from '../../stores/redis.js'
import type {
  NewSession,
  Revocation,
  SessionStore,
  SessionStoreFactory,
  StoredSession,
  Swapped,
} from '../../../types/sessions.js'
import { digestOf } from '../../common/digest.js'
import { scripts } from './redis-scripts.js'
import { revocationPoller } from './revocation-poller.js'

interface RedisClient extends ScriptClient {
  readonly options?: { readonly keyPrefix?: string | Buffer | undefined }
  duplicate(): {
    on(event: string, listener: () => void): unknown
    subscribe(channel: string): Promise<unknown>
    disconnect(): void
  }
}

/** A session as the scripts return it. `about` is JSON of the members that do not change. */
type Row = readonly [about: string, created: string, used: string, ends: string]
type SwapRow =
  | readonly ['late' | 'unknown']
  | readonly [outcome: 'swapped' | 'repeated' | 'reused', now: string, row: Row, sealed?: string]

/**
 * Keeps sessions in Redis 6 or later, or in a server that runs its Lua scripts, such as Valkey.
 * @param client - a client of ioredis, which is neither configured nor closed. Its `duplicate()` makes a second
 * connection, on which Redis publishes what other processes have revoked
 * @param options - `prefix`: the name of the app, with which all keys and channels begin: letters, digits and
 * `_ . : -`, at most 64 of them. Apps that use the same Redis need different ones, or alice of the one could refresh as
 * alice of the other
 * @throws ERR_AUTH_OPTION if the client is not one of ioredis, or the prefix is missing or does not fit
 */
export function redisSessions(
  client: object,
  options: { readonly prefix: string },
): SessionStoreFactory {
  const methods = ['evalsha', 'eval', 'duplicate']
  const opened = openRedis<RedisClient>(client, options, 'redisSessions', methods)
  const { prefix } = opened
  return {
    prefix,
    isLocal: false,
    once: true,
    // The braces make a hash tag: see the scripts.
    open: (name) => storeOver(opened.client, `{${prefix}:${name}}`),
  }
}

function storeOver(client: RedisClient, root: string): SessionStore {
  const run = runnerOf(client, root, scripts)
  const poller = revocationPoller(async (cursor) => {
    const [now, members] = (await run('revocations', cursor ?? '')) as [string, string[]]
    return { revocations: members.map(revocationOf), now: Number(now), cursor: now }
  })
  let subscriber: ReturnType<RedisClient['duplicate']> | undefined
  return {
    async create({ handle, current, lifetime, idle, revocationTtl, maxPerUser, once, ...about }) {
      const texts = [handle, current, about.sid, digestOf(about.sub), JSON.stringify(about)]
      const values = [...texts, lifetime, idle, revocationTtl, maxPerUser, once]
      const created = (await run('create', ...values)) as [string, string[], string] | null
      if (created === null) return null
      const [now, members, gone] = created
      const [, at, by = ''] = /^([^:]*):(.*)$/s.exec(gone) ?? []
      const userRevocation = at === undefined ? null : { at: Number(at), by }
      return { now: Number(now), revoked: members.map(revocationOf), userRevocation }
    },
    async find(handle) {
      const [now, row] = (await run('find', handle)) as [string, Row | null]
      return { session: row && sessionOf(row), now: Number(now) }
    },
    async swap({ handle, presented, next, sealed, grace, idle, deadline, revocationTtl }) {
      const values = [handle, presented, next, sealed, grace, idle, deadline, revocationTtl]
      const [outcome, ...rest] = (await run('swap', ...values)) as SwapRow
      if (rest.length === 0) return { outcome } as Swapped
      const [now, row, successor] = rest
      const sealedNext = successor === undefined ? {} : { sealed: successor }
      return { outcome, session: sessionOf(row), now: Number(now), ...sealedNext } as Swapped
    },
    async revoke(which, revocationTtl, by = '') {
      const [sid, owner] = 'sid' in which ? [which.sid, ''] : ['', digestOf(which.sub)]
      const revoked: Revocation[] = []
      let author = 'sid' in which ? [] : [by]
      for (;;) {
        const answer = await run('revoke', sid, owner, revocationTtl, ...author)
        author = []
        const [more, members] = answer as [string, string[]]
        revoked.push(...members.map(revocationOf))
        if (more === '0') return revoked
      }
    },
    async list(sub) {
      const rows = (await run('list', digestOf(sub))) as Row[]
      return rows.map(sessionOf).toSorted((one, other) => other.created - one.created)
    },
    /** Polls also after every message of Redis. Messages are lost while the connection is lost. */
    watch(watcher) {
      // ioredis adds the prefix of the client to keys, but not to names of channels.
      const channel = `${String(client.options?.keyPrefix ?? '')}${root}:revoked`
      const connection = client.duplicate()
      const ignore = (): void => undefined
      const subscribe = (): void =>
        void connection.subscribe(channel).then(() => poller.hint(), ignore)
      // Without a listener an error would end the process. The client of the app has the same errors.
      connection.on('error', ignore)
      connection.on('message', () => poller.hint())
      connection.on('ready', subscribe)
      // A client with lazyConnect connects at its first command.
      subscribe()
      subscriber = connection
      poller.start(watcher)
    },
    async close() {
      poller.stop()
      subscriber?.disconnect()
    },
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
