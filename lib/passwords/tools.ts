import type { FastifyBaseLogger, FastifyRequest } from 'fastify'
import { declaredProperty } from '../common/objects.js'
import { isProduction } from '../common/production.js'
import { createCredentialCheck } from './check.js'
import { inheritHashing, isBelow, longestFor, resolveHashing } from './hashing.js'
import { argon2 } from './kinds/argon2.js'
import { HashingQueue } from './queue.js'
import {
  hashInTurn,
  isOutdated,
  longestOf,
  parseHash,
  readHash,
  requireText,
  verifyInTurn,
  type Hashing,
} from './verify.js'
import { findForLogin } from '../users/user.js'
import type { CheckTools } from './rehash.js'
import type { ResolvedOptions } from '../options/resolve.js'
import type { Authn } from '../../types/authn.js'
import type { HashingOptions } from '../../types/passwords.js'

export interface SharedHashing {
  /** The queue and the option `hashing` of the first registration, which are the defaults of the others. */
  hashing: { readonly queue: HashingQueue; readonly given: HashingOptions } | null
}

type Users = Pick<CheckTools, 'userService' | 'passwordField'>
type BasicUsers = Users & Pick<CheckTools, 'isClosed'>
/** Without a throttle, a wrong password is not counted for the user. */
type LoginUsers = Users & { readonly throttle?: null }

export type PasswordTools = Awaited<ReturnType<typeof createPasswordTools>>

export async function createPasswordTools(
  options: ResolvedOptions,
  app: SharedHashing,
  { cache, ...shared }: Pick<CheckTools, 'throttle' | 'cache' | 'registration'>,
  log: FastifyBaseLogger,
) {
  const { userServiceTimeout } = options
  const hashing = await openHashing(options, app, log)
  const tools = { hashing, userServiceTimeout, ...shared }
  return {
    api: passwordApi(hashing),
    load: async (): Promise<void> => {
      for (const { kind } of hashing.profiles) await kind.load()
    },
    /** Whether a hash of any kind is stored that the options know, above the ceilings too, and not, say, `!` of Django. */
    hasPassword(user: object): boolean {
      const stored = declaredProperty(user, options.passwordField)
      return typeof stored === 'string' && parseHash(stored, hashing.known) !== null
    },
    fits: (password: string): boolean => Buffer.byteLength(password) <= longestOf(hashing),
    hashNew: (password: string, request: FastifyRequest): Promise<string> =>
      hashInTurn(hashing, password, longestOf(hashing), request),
    basicCheck: (users: BasicUsers) => createCredentialCheck({ ...tools, ...users, cache }),
    loginCheck: (users: LoginUsers, validAfter: (user: object) => number) =>
      createCredentialCheck({ ...tools, ...users, cache: null }, validAfter, findForLogin),
    stats: () => ({
      hashing: { ...hashing.queue.stats },
      credentials: cache?.stats ?? { hits: 0, misses: 0, size: 0 },
    }),
  }
}

async function openHashing(
  { hashing: option, maxPasswordBytes, userServiceTimeout }: ResolvedOptions,
  app: SharedHashing,
  log: FastifyBaseLogger,
): Promise<Hashing> {
  const given = inheritHashing(app.hashing?.given, option)
  const hashing = resolveHashing(given, userServiceTimeout)
  const { wanted, profiles } = hashing
  // This engine is an optional package, so it may be missing.
  if (profiles.some(({ kind }) => kind === argon2)) await argon2.load()
  if (option !== undefined && isProduction() && isBelow(wanted, wanted.kind.owasp)) {
    log.warn(
      `fastify-authn: the parameters of ${wanted.kind.name} in the option "hashing" are below those that OWASP recommends, so that stolen hashes are cheap to guess. Leave them out for the defaults, which are not.`,
    )
  }
  const { queue } = (app.hashing ??= { queue: new HashingQueue(hashing.queue), given })
  return { ...hashing, queue, maxPasswordBytes: maxPasswordBytes ?? longestFor(wanted.kind) }
}

function passwordApi(
  hashing: Hashing,
): Pick<Authn, 'hashPassword' | 'verifyPassword' | 'needsRehash'> {
  const { wanted } = hashing
  const hashOf = (stored: unknown) => readHash(stored, hashing).hash
  return {
    hashPassword: async (password) => hashInTurn(hashing, password, longestOf(hashing)),
    async verifyPassword(password, storedHash) {
      requireText(password)
      return (await verifyInTurn(hashing, password, hashOf(storedHash))) !== null
    },
    needsRehash: (storedHash) => isOutdated(wanted, hashOf(storedHash)),
  }
}
