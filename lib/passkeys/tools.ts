import type { FastifyRequest } from 'fastify'
import { declaredProperty } from '../common/objects.js'
import { askApp } from '../errors/ask.js'
import { faultOf, rejection } from '../errors/errors.js'
import { channelOf } from '../events.js'
import { requireLevel } from '../guard/level.js'
import { ownSession } from '../login/own-session.js'
import { claimsMaker, type OwnClaims } from '../login/token.js'
import { localClaimsOf, storedUser } from '../request/state.js'
import { findUser, isUsableName } from '../users/user.js'
import { invalid, type Verifier } from './verify.js'
import type { Registration } from '../feature.js'
import type { ResolvedPasskeys } from './options.js'
import type { CeremonyTokens } from './tokens.js'
import type { Passkey, PasskeyEvent } from '../../types/passkeys.js'
import type { UserService } from '../../types/user-service.js'

/** How often a change is tried that others get in the way of. */
const mostTries = 5

/** Seconds for which an authentication is fresh enough to change the ways in. */
const longestAge = 600

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
    readonly tokens: Readonly<Record<'login' | 'add', CeremonyTokens>>,
    readonly verifier: Verifier,
    readonly registration: Registration,
  ) {
    this.#claimsOf = claimsMaker(registration.options.login)
  }

  /** @throws ERR_AUTH_FORBIDDEN without a session of the user, and where another user acts as this one */
  own(request: FastifyRequest): Owner {
    const user = storedUser<object>(request)
    const session = ownSession(this.registration.app.authn.sessions, request)
    const cause = 'not a session of the user'
    if (user === null || session === null) throw rejection('auth.forbidden', { cause })
    return { user, sub: (localClaimsOf(request) as OwnClaims).sub }
  }

  /** For what changes the ways in. @throws ERR_AUTH_INSUFFICIENT_AUTHENTICATION, what {@link own} throws */
  ownFresh(request: FastifyRequest): Owner {
    const owner = this.own(request)
    const mfa = this.registration.secondFactor?.isOn(owner.user) ?? false
    requireLevel(request, { mfa, fresh: longestAge })
    return owner
  }

  /**
   * The user of a handle, which an authenticator returns and a client may have made up. Only a `sub` finds a user, and no
   * other name does, such as an address. @throws (rejects) ERR_AUTH_PASSKEY_INVALID
   */
  async ownerOf(handle: string, request: FastifyRequest): Promise<Owner> {
    const sub = subIn(handle)
    if (!isUsableName(sub)) throw invalid('its user handle')
    const { userService, userServiceTimeout } = this.registration.options
    const user = await findUser(userService as UserService, sub, request, userServiceTimeout)
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
  async swap(owner: Owner, id: string, change: (passkey: Passkey) => Passkey | Promise<Passkey>) {
    for (let tries = 0; tries < mostTries; tries += 1) {
      const before = (await this.list(owner)).find((each) => each.id === id)
      if (before === undefined) throw unknown()
      const after = await change(before)
      if (await this.ask<unknown>((given) => given.update(owner.user, after, before))) return
    }
    const cause = `passkeys.update() has stored nothing, ${mostTries} times`
    throw rejection('auth.overloaded', { cause, retryAfter: 1 })
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
