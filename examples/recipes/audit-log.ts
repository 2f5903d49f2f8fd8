import { channels, type AuthnEvents } from 'fastify-authn'

export const schema = `create table audit_log (
  id bigint generated always as identity primary key,
  at timestamptz not null default now(),
  event text not null,
  registration text not null, -- users of two registrations may have the same id
  sub text, -- the user, by the id that login.subject returns
  address text,
  details jsonb not null default '{}'
)`

/** Your query function. */
export type Query = (sql: string, values: unknown[]) => Promise<unknown>

interface Row {
  readonly sub?: string | number | undefined
  /** What was typed as the address at a login, which is not stored. */
  readonly typed?: string
  readonly [detail: string]: unknown
}

const idOf = (user: object | undefined) => (user as { id: number } | undefined)?.id

/**
 * Writes a row for each event. Call it once in each process; what it returns ends it, when all rows are written.
 *
 * @param users - your table of users: with the option `users`, `shop_users` for the prefix `shop`
 */
export function writeAuditLog(
  query: Query,
  onError: (error: unknown) => void,
  users = 'users',
): () => Promise<unknown> {
  const insert = `insert into audit_log (event, registration, sub, address, details)
  values ($1, $2, coalesce($3, (select id::text from ${users} where email = lower($6))), $4, $5)`
  const pending = new Set<Promise<unknown>>()
  const stops: (() => void)[] = []
  const throttled = new Set<string>()
  let minute = 0

  function on<Name extends keyof AuthnEvents>(
    name: Name,
    rowOf: (event: AuthnEvents[Name]) => Row | null,
  ): void {
    function listener(event: AuthnEvents[Name]): void {
      const row = rowOf(event)
      if (row === null) return
      const { sub, typed = null, ...details } = row
      const address = 'request' in event ? (event.request?.ip ?? null) : null
      const id = sub === undefined ? null : String(sub)
      const values = [name, event.registration, id, address, details, typed]
      // An error here must not end the process, nor hold the request up.
      const written = query(insert, values).catch(onError)
      pending.add(written)
      void written.then(() => pending.delete(written))
    }
    channels[name].subscribe(listener)
    stops.push(() => channels[name].unsubscribe(listener))
  }

  on('login', ({ user, amr }) => ({ sub: idOf(user), amr }))
  // Wrong passwords, and what a known user may not do. Expired tokens are everyday life.
  on('failure', ({ authenticator, code, user, reason, request }) => {
    if (user !== undefined) return { sub: idOf(user), code, reason }
    if (authenticator !== 'login') return null
    // PostgreSQL rejects a NUL in text.
    return { typed: String(Object(request.body).email).replaceAll('\0', ''), code, reason }
  })
  // A flood of requests is one row a minute for each client.
  on('throttled', ({ code, authenticator, request }) => {
    const now = Math.floor(Date.now() / 60_000)
    if (now !== minute) throttled.clear()
    minute = now
    if (throttled.has(request.ip) || throttled.size === 1000) return null
    throttled.add(request.ip)
    return { code, authenticator }
  })
  on('logout', ({ sub, sid, everywhere }) => ({ sub, sid, everywhere }))
  on('reuse', ({ sub, sid }) => ({ sub, sid }))
  on('account', ({ sub, action }) => ({ sub, action }))
  // Null where a job did it.
  on('user', ({ sub, action, request }) => ({
    sub,
    action,
    by: idOf(request?.user ?? undefined) ?? null,
  }))
  on('secondFactor', ({ sub, action }) => ({ sub, action }))
  on('passkey', ({ sub, action, id }) => ({ sub, action, passkey: id }))
  on('link', ({ sub, provider }) => ({ sub, provider }))
  on('apiKey', ({ owner, action, id, name }) => ({ sub: owner, action, key: id, name }))

  return async () => {
    for (const stop of stops) stop()
    await Promise.all(pending)
  }
}
