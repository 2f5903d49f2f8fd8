import { randomUUID } from 'node:crypto'
import type { FastifyRequest } from 'fastify'
import { LRUCache } from 'lru-cache'
import { claimsMaker } from '../login/token.js'
import type { ResolvedSessions } from './options.js'
import { longestTolerance } from '../options/jwt-schemas.js'
import { openStore } from '../stores/store-client.js'
import { Lookups } from '../throttle/lookups.js'
import { findUser } from '../users/user.js'
import { digestOf } from '../common/digest.js'
import { Revocations } from './revocations.js'
import { memorySessions } from './stores/memory.js'
import type { FeatureContext } from '../feature.js'
import type { LoginOptions } from '../../types/login.js'
import type { SessionOrUser } from '../../types/sessions.js'
import type { UserService } from '../../types/user-service.js'

/** Seconds that a call of the store may take. */
export const storeTimeout = 5

export interface SessionTools extends ReturnType<typeof openTools> {
  /** The tools of all registrations of the app with the same user service, this one included. */
  family: readonly SessionTools[]
}

export function openTools(
  context: FeatureContext<ResolvedSessions>,
  accountSubjects: () => readonly LoginOptions['subject'][],
) {
  const { app, registration, options, jwtService: service, tokenChecks } = context
  const { store: factory = memorySessions(), ...settings } = context.resolved
  const { userService, userServiceTimeout } = options
  const { signingMethod, subject }: LoginOptions = options.login || {}
  const { store, client, place } = openStore(context, {
    option: 'sessions',
    factory,
    name: settings.name,
    ifLocal:
      'fastify-authn keeps its sessions in the memory of this process: a restart logs all users out, and other processes do not know them. Set sessions: { store } (redisSessions or sqlSessions of fastify-authn/sessions).',
    ifUnavailable:
      'The session store is unavailable: logins, refreshes and logouts are rejected until it is back',
    patience: storeTimeout,
  })
  const lost = (error: unknown, isFirst: boolean) => client.log(error, isFirst ? factory.help : '')
  return {
    app,
    registration,
    settings,
    factory,
    /** The end of the names of its sessions, which tells them from those of other registrations with the same key. */
    tag: digestOf(place).slice(0, 6),
    store,
    client,
    lookups: new Lookups(),
    revocations: Object.assign(new Revocations(lost), { registration }),
    /** Names this process in the store. */
    instance: randomUUID(),
    /** When this process has revoked all sessions of a `sub`: by `performance.now()`, and in milliseconds since 1970. */
    // By size: with `max` it allocates all entries at once, 4 ms of each startup.
    userRevocations: new LRUCache<string, number[]>({ maxSize: 10_000, sizeCalculation: () => 1 }),
    service,
    method: signingMethod,
    /** Seconds for which revocations are kept: until no authenticator accepts an access token of the session any more. */
    revocationTtl: service.expiry + longestTolerance,
    find: (name: string | number, request: FastifyRequest) =>
      findUser(userService as UserService, name, request, userServiceTimeout),
    /** `login.subject`, by which `accounts` revokes sessions; undefined without them, which need one. */
    accountSubject: options.accounts && subject,
    claimsOf: claimsMaker(options.login, accountSubjects),
    tokenChecks,
    counts: { begun: 0, refreshed: 0, reused: 0 },
  }
}

/** Whether a session is one of this registration: others may have the same key. */
export function isOwnSession({ tag }: Pick<SessionTools, 'tag'>, sid: string): boolean {
  return sid.endsWith(`.${tag}`)
}

/** Revokes one session, or those of a user in the whole family. Other processes follow when the store reports it. */
export async function revokeSessions(tools: SessionTools, which: SessionOrUser): Promise<number> {
  const ownerOf = (sid: string) => tools.family.find((each) => isOwnSession(each, sid)) ?? tools
  const owners = 'sub' in which ? tools.family : [ownerOf(which.sid)]
  const counts = await Promise.all(owners.map((each) => revokeOwn(each, which)))
  return counts.reduce((sum, count) => sum + count, 0)
}

const mostTurns = 5

/** Revokes the sessions of a user in the whole family but one. */
export async function revokeOthers(tools: SessionTools, sub: string, except: string) {
  let revoked = 0
  for (let turn = 0; turn < mostTurns; turn += 1) {
    const stored = await Promise.all(
      tools.family.map(({ client }) => client.call((store) => store.list(sub))),
    )
    const others = stored.flat().filter(({ sid }) => sid !== except)
    const counts = await Promise.all(others.map(({ sid }) => revokeSessions(tools, { sid })))
    revoked += counts.filter((count) => count > 0).length
    // One that is gone already may have been replaced since.
    if (!counts.includes(0)) break
  }
  return revoked
}

async function revokeOwn(
  { client, revocations, userRevocations, revocationTtl, instance }: SessionTools,
  which: SessionOrUser,
): Promise<number> {
  if ('sub' in which) userRevocations.set(which.sub, [performance.now(), Date.now()])
  const revoked = await client.call((store) => store.revoke(which, revocationTtl, instance))
  // The session is added even if the store does not have it: it may have lost it.
  if ('sid' in which) revocations.add(which.sid, revocationTtl)
  for (const { sid } of revoked) revocations.add(sid, revocationTtl)
  return revoked.length
}
