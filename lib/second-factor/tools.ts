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

/** A user, and a code of theirs. */
interface Tries extends Pick<FinishedLogin, 'user'> {
  readonly sub: Sub
  /** Used up when the session is stored; undefined where there is nothing left to use up. */
  readonly code?: string
  /** The factor of the user as it is stored now. @throws ERR_AUTH_LOGIN_EXPIRED if the login ended meanwhile */
  check(user: object): Factor | null
}

/** A login that a code completes. */
interface Shown extends Tries, Pick<FinishedLogin, 'started' | 'began' | 'replaces' | 'once'> {
  /** The methods so far. */
  readonly amr: readonly string[]
}

/** Swaps that a removal or a right code may lose: guesses must not stop it, and an app that stores nothing must. */
export const mostLost = 200

export const noFactor = (): Error => rejection('auth.forbidden', { cause: 'no second factor' })

const toNull = (store: FactorStore) => (user: object) =>
  store.textOf(user) === null ? {} : { after: null }

export class SecondFactorTools {
  readonly counts = { enabled: 0, failed: 0 }
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
    const [password, after] = [this.passwordOf(found), this.validAfter(found)]
    return (now) => {
      const isSame = this.passwordOf(now) === password && this.validAfter(now) <= after
      if (isSame) return this.store.factorOf(now, sub)
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

  /**
   * Tries a code. A right one is used up with `most`, the swaps that it may lose.
   * @param isCounted - whether a wrong one is stored
   */
  async #tryCode(
    { user: found, sub, code = '', check }: Tries,
    request: FastifyRequest,
    isCounted: boolean,
    most?: number,
  ): Promise<object> {
    const change = (now: object): Tried => {
      const factor = check(now)
      if (factor === null) throw noFactor()
      const tried = tryCode(factor, code, this.passwordOf(now))
      if (tried.error !== undefined) return isCounted ? tried : { error: tried.error }
      return most === undefined ? {} : tried
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

  /** Tries a code. @returns what the login needs that it completes @throws (rejects) ERR_AUTH_CODE_INVALID */
  async prove(tries: Tries, request: FastifyRequest, isCounted = true) {
    const { sub, check, code, user: found } = tries
    const user = code === undefined ? found : await this.#tryCode(tries, request, isCounted)
    let now = user
    const confirm = async (): Promise<void> => {
      const stored = await this.store.find(sub, request)
      if (stored === null) throw loginExpired('the user is gone')
      check((now = stored))
    }
    const use = async (): Promise<void> => {
      if (code !== undefined) await this.#tryCode({ ...tries, user: now }, request, true, mostLost)
    }
    return { user, confirm, use }
  }

  /** Begins the session of a user who has shown a code. @returns the body of the login */
  async begin(request: FastifyRequest, reply: FastifyReply, shown: Shown): Promise<object> {
    const { sub: username, amr, started, began, replaces, once } = shown
    const authentication = { amr: [...new Set([...amr, 'otp', 'mfa'])] }
    const confirmFirst = async (): Promise<void> => {
      const { features } = this.registration
      for (const each of features) if (once) await each.confirmLogin?.(once.bound, request)
    }
    await confirmFirst()
    const proved = await this.prove(shown, request)
    const confirm = async (): Promise<void> => {
      await confirmFirst()
      await proved.confirm()
    }
    const login = { ...proved, confirm, username, started, began, replaces, once, authentication }
    return finishLogin(this.registration, request, reply, login)
  }
}
