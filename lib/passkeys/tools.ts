import type { FastifyRequest } from 'fastify'
import { declaredProperty } from '../common/objects.js'
import { isStored } from '../common/stored.js'
import { swap } from '../common/swap.js'
import { askApp } from '../errors/ask.js'
import { faultOf } from '../errors/errors.js'
import { channelOf } from '../events.js'
import { claimsMaker } from '../login/token.js'
import { findUserOf, isUsableName } from '../users/user.js'
import { invalid, type Verifier } from './verify.js'
import type { Registration } from '../feature.js'
import type { ResolvedPasskeys } from './options.js'
import type { CeremonyTokens } from './tokens.js'
import type { Passkey, PasskeyEvent } from '../../types/passkeys.js'

/** The longest user handle, in bytes (WebAuthn §5.4.3). */
const longestHandle = 64

export interface Owner {
  /** As `findByUsername` has returned it. */
  readonly user: object
  readonly sub: string | number
}

export class PasskeyTools {
  readonly #claimsOf: ReturnType<typeof claimsMaker>

  constructor(
    readonly resolved: ResolvedPasskeys,
    readonly tokens: CeremonyTokens,
    readonly verifier: Verifier,
    readonly registration: Registration,
  ) {
    this.#claimsOf = claimsMaker(registration.options.login)
  }

  /**
   * The user of a handle, which an authenticator returns and a client may have made up. Only a `sub` finds a user, and no
   * other name does, such as an address. @throws (rejects) ERR_AUTH_PASSKEY_INVALID
   */
  async ownerOf(handle: string, request: FastifyRequest): Promise<Owner> {
    const sub = subIn(handle)
    if (!isUsableName(sub)) throw invalid('its user handle')
    const user = await findUserOf(this.registration.options, sub, request)
    if (user === null) throw invalid('user not found')
    const claims = await this.#claimsOf(sub, request, user)
    if (claims.sub !== sub) throw invalid('its user handle is no sub')
    return { user, sub }
  }

  /** @throws AuthenticationFault for a `sub` that is too long */
  handleOf({ sub }: Owner): string {
    const bytes = Buffer.from(JSON.stringify(sub))
    if (bytes.length <= longestHandle) return bytes.toString('base64url')
    throw fault(
      'login.subject returned more than the 62 bytes that a passkey can keep. Return a shorter id.',
    )
  }

  async list({ user }: Owner): Promise<readonly Passkey[]> {
    const found: unknown = await this.ask((given) => given.list(user))
    if (Array.isArray(found) && found.every(isPasskey)) return found
    throw fault(
      'passkeys.list() returned something else than an array of passkeys as add() got them: objects with the strings id and publicKey, and the numbers counter and at.',
    )
  }

  /** Changes a passkey by compare-and-swap, again for one that others change at the same time. */
  swap(owner: Owner, id: string, change: (passkey: Passkey) => Passkey | Promise<Passkey>) {
    const attempt = async () => {
      const before = (await this.list(owner)).find((each) => each.id === id)
      if (before === undefined) throw unknown()
      const after = await change(before)
      // Some databases count no change of what stays the same.
      if (JSON.stringify(after) === JSON.stringify(before)) return true
      const update = (given: ResolvedPasskeys['given']) => given.update(owner.user, after, before)
      return (await this.store('passkeys.update', update)) || null
    }
    return swap(attempt, 'passkeys.update')
  }

  async store(name: string, work: (given: ResolvedPasskeys['given']) => unknown): Promise<boolean> {
    return isStored(await this.ask(work), 'ERR_AUTH_PASSKEYS', name)
  }

  /** Whether a user gets in without a passkey. */
  hasOtherWay({ user }: Owner): boolean {
    const { features, options, passwords } = this.registration
    const hash = declaredProperty(user, options.passwordField)
    const hasPassword = typeof hash === 'string' && passwords.isHash(hash)
    return hasPassword || features.some(({ name }) => name === 'loginWith')
  }

  ask<T>(work: (given: ResolvedPasskeys['given']) => T | Promise<T>): Promise<T> {
    return askApp('ERR_AUTH_PASSKEYS', () => work(this.resolved.given))
  }

  tell(action: PasskeyEvent['action'], { sub }: Owner, id: string, request: FastifyRequest): void {
    channelOf('passkey').publish({ action, sub: String(sub), id, request })
  }
}

export const unknown = (): Error => invalid('not a passkey of this user')

const fault = (text: string): Error => faultOf('ERR_AUTH_PASSKEYS', new TypeError(text))

function subIn(handle: string): unknown {
  try {
    return JSON.parse(Buffer.from(handle, 'base64url').toString())
  } catch {
    return undefined
  }
}

function isPasskey(value: unknown): value is Passkey {
  const { id, publicKey, counter, at } = Object(value) as Record<keyof Passkey, unknown>
  const areTexts = typeof id === 'string' && typeof publicKey === 'string'
  return areTexts && Number.isFinite(counter) && Number.isFinite(at)
}
