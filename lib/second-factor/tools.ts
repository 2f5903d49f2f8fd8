import type { FastifyReply, FastifyRequest } from 'fastify'
import { digestOf } from '../common/digest.js'
import { declaredProperty } from '../common/objects.js'
import { rejection } from '../errors/errors.js'
import { channelOf } from '../events.js'
import { finishLogin } from '../login/finish.js'
import { claimsMaker, issuedAfter } from '../login/token.js'
import { noPasswordField } from '../passwords/check.js'
import { loginExpired } from '../tokens/step.js'
import { tryCode, type Factor, type Tried } from './factor.js'
import { FactorStore, type Sub } from './store.js'
import type { Devices, FactorTokens } from './tokens.js'
import type { Registration } from '../feature.js'
import type { ResolvedLogin } from '../options/resolve.js'
import type { FinishedLogin } from '../tokens/issued.js'
import type { ResolvedSecondFactor } from './options.js'
import type { SecondFactorEvent } from '../../types/second-factor.js'
import type { Sessions } from '../../types/session-api.js'

/** A login that a code completes. */
interface Shown extends Pick<FinishedLogin, 'user' | 'started' | 'began'> {
  readonly sub: Sub
  /** The methods so far. */
  readonly amr: readonly string[]
  /** Used up when the session is stored; undefined where there is nothing left to use up. */
  readonly code?: string
  /** The factor of the user as it is stored now. @throws ERR_AUTH_LOGIN_EXPIRED if the login ended meanwhile */
  check(user: object): Factor | null
}

/** Swaps that a removal or a right code may lose: guesses must not stop it, and an app that stores nothing must. */
export const mostLost = 200

export const noFactor = (): Error => rejection('auth.forbidden', { cause: 'no second factor' })

const toNull = (store: FactorStore) => (user: object) =>
  store.textOf(user) === null ? {} : { after: null }

export class SecondFactorTools {
  readonly counts = { enabled: 0, failed: 0 }
  /** Those of all registrations with the same users. */
  family: readonly Sessions[] = []
  readonly store: FactorStore
  readonly claimsOf: ReturnType<typeof claimsMaker>

  constructor(
    readonly resolved: ResolvedSecondFactor,
    readonly tokens: FactorTokens,
    readonly devices: Devices,
    readonly registration: Registration,
  ) {
    this.store = new FactorStore(resolved, registration.options)
    this.claimsOf = claimsMaker(registration.options.login)
  }

  /** The digest of a password hash. @param hash - default: that of the user @throws ERR_AUTH_PASSWORD_FIELD */
  passwordOf(user: object, hash?: string): string {
    const { passwordField, login } = this.registration.options
    const stored = hash ?? declaredProperty(user, passwordField)
    // A look-up by id may leave the hash out. A login would then survive a reset.
    const isNeeded = (login as ResolvedLogin).passwords !== false
    if (stored === undefined && isNeeded) throw noPasswordField(passwordField)
    return digestOf(JSON.stringify([stored ?? null]))
  }

  /** @returns a function that gets the factor of the user, as stored later, whose password has to be that of `found` */
  samePassword(found: object, sub: Sub): (now: object) => Factor | null {
    const password = this.passwordOf(found)
    return (now) => {
      if (this.passwordOf(now) === password) return this.store.factorOf(now, sub)
      throw loginExpired('the password has changed')
    }
  }

  /** What logins are bound to: the password and the factor. @param hash - see {@link passwordOf} */
  stateOf(user: object, { id }: Factor, hash?: string): string {
    return digestOf(`${this.passwordOf(user, hash)} ${id}`)
  }

  /** A user in the cookie of a device, which is bound to what logins are bound to, and until it is forgotten. */
  deviceOf(states: readonly string[], { id, devices }: Factor) {
    const bound = states.map((state) => digestOf(`${state} ${devices ?? ''}`))
    return [digestOf(id).slice(0, 8), ...bound] as const
  }

  validAfter(user: object): number {
    return issuedAfter(this.registration.tokenChecks, user)
  }

  /** Tries a code. A wrong one counts, and with `most`, the swaps that it may lose, a right one is used up. */
  async #tryCode(
    { user: found, sub, code = '', check }: Shown,
    request: FastifyRequest,
    most?: number,
  ): Promise<object> {
    const change = (now: object): Tried => {
      const factor = check(now)
      if (factor === null) throw noFactor()
      const tried = tryCode(factor, code, this.passwordOf(now))
      return most === undefined && tried.error === undefined ? {} : tried
    }
    const { user, error, left } = await this.store.swap(found, sub, request, change, most)
    if (error?.code === 'ERR_AUTH_CODE_INVALID') {
      this.counts.failed += 1
      this.tell('failed', sub, request)
    }
    if (error !== undefined) throw error
    if (left !== undefined) this.tell('recovery-code-used', sub, request, { left })
    return user
  }

  tell(action: SecondFactorEvent['action'], sub: Sub, request: FastifyRequest, more = {}): void {
    const { name: registration } = this.registration
    channelOf('secondFactor').publish({ action, sub: String(sub), request, registration, ...more })
  }

  /** Removes a second factor, also one that no key opens, and while others guess. @returns whether there was one */
  async remove(user: object, name: Sub, sub: Sub, request: FastifyRequest): Promise<boolean> {
    const removed = await this.store.swap(user, name, request, toNull(this.store), mostLost)
    if (removed.after === undefined) return false
    this.tell('disabled', sub, request)
    return true
  }

  /** Begins the session of a user who has shown a code. @returns the body of the login */
  async begin(request: FastifyRequest, reply: FastifyReply, shown: Shown): Promise<object> {
    const { sub: username, amr, check, code, user: found, ...times } = shown
    const user = code === undefined ? found : await this.#tryCode(shown, request)
    let now = user
    const confirm = async (): Promise<void> => {
      const stored = await this.store.find(username, request)
      if (stored === null) throw loginExpired('the user is gone')
      check((now = stored))
    }
    const use = async (): Promise<void> => {
      if (code !== undefined) await this.#tryCode({ ...shown, user: now }, request, mostLost)
    }
    const authentication = { amr: [...new Set([...amr, 'otp', 'mfa'])] }
    const login = { username, user, ...times, confirm, use, authentication }
    return finishLogin(this.registration, request, reply, login)
  }
}
