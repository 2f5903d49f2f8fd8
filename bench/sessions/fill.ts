import { createHash } from 'node:crypto'
import type { Pool } from 'pg'
import type { NewSession, SessionStore } from '../../types/sessions.js'

/** What digests look like. */
export const digest = (text: string): string =>
  createHash('sha256').update(text).digest('base64url')
export const tokenOf = (index: number, generation: number): string =>
  digest(`token ${index} ${generation}`)

const userAgent =
  'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/131.0.0.0 Safari/537.36'
const times = { lifetime: 2_592_000, idle: 1_209_600, revocationTtl: 600, maxPerUser: 100 }

function sessionOf(index: number): NewSession {
  return {
    handle: digest(`handle ${index}`),
    sid: digest(`sid ${index}`).slice(0, 22),
    sub: `user ${index}`,
    current: tokenOf(index, 0),
    address: '203.0.113.7',
    userAgent,
    data: '{"iat":1790000000}',
    ...times,
  }
}

/** Begins so many sessions, each of a user of its own. */
export async function fill(store: SessionStore, count: number): Promise<void> {
  let next = 0
  const worker = async (): Promise<void> => {
    while (next < count) await store.create(sessionOf(next++))
  }
  await Promise.all(Array.from({ length: 256 }, worker))
}

/** The same sessions in one statement for each 100,000: a million logins would take minutes. */
export async function fillTable(pool: Pool, prefix: string, count: number): Promise<void> {
  const hash = (text: string): string =>
    `translate(rtrim(encode(sha256(convert_to(${text}, 'UTF8')), 'base64'), '='), '+/', '-_')`
  for (let from = 0; from < count; from += 100_000) {
    const to = Math.min(from + 100_000, count) - 1
    await pool.query(
      `INSERT INTO ${prefix}_sessions (registration, handle, sid, sub, current_token, address, user_agent, data,
         created_at, last_used_at, ends_at, expires_at, sweep_at, revocation_ttl)
       SELECT 'bench', ${hash(`'handle ' || i`)}, left(${hash(`'sid ' || i`)}, 22), 'user ' || i,
         ${hash(`'token ' || i || ' 0'`)}, '203.0.113.7', $1, '{"iat":1790000000}', now(), now(),
         now() + interval '30 days', now() + interval '14 days', now() + interval '14 days', 600
       FROM generate_series($2::int, $3::int) i`,
      [userAgent, from, to],
    )
  }
  await pool.query(`VACUUM (ANALYZE) ${prefix}_sessions`)
}
