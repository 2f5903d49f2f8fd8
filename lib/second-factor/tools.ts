import type { FastifyReply, FastifyRequest } from 'fastify'
import { digestOf } from '../common/digest.js'
import { declaredProperty } from '../common/objects.js'
import { channelOf } from '../events.js'
import { finishLogin } from '../login/finish.js'
import { claimsMaker, issuedAfter } from '../login/token.js'
import { noPasswordField } from '../passwords/check.js'
import { loginExpired } from '../tokens/step.js'
import { tryCode, type Factor } from './factor.js'
import { FactorStore, type Sub } from './store.js'
import type { Devices, FactorTokens } from './tokens.js'
import type { Registration } from '../feature.js'
import type { ResolvedLogin } from '../options/resolve.js'
import type { FinishedLogin } from '../tokens/issued.js'
import type { ResolvedSecondFactor } from './options.js'
import type { SecondFactorEvent } from '../../types/second-factor.js'
import type { Sessions } from '../../types/session-api.js'

/** A login that a code completes: the methods so far, and whether the user is still the same when the tokens are stored. */
interface Shown extends Pick<FinishedLogin, 'user' | 'started'> {
  readonly sub: Sub
  readonly amr: readonly string[]
  isSame(user: object): boolean
}

/** Swaps that a removal may lose: no guess may keep support from it, and an app that stores nothing has to get an error. */
const mostRemovals = 200

const toNull = (store: FactorStore) => (user: object) =>
  store.textOf(user) === null ? {} : { after: null }

export class SecondFactorTools {
  readonly counts = { enabled: 0, failed: 0 }
  /** Those of all registrations whose tokens are accepted here. */
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

  /** @returns whether a user, as stored later, has the password of `found` */
  samePassword(found: object): (now: object) => boolean {
    const password = this.passwordOf(found)
    return (now) => this.passwordOf(now) === password
  }

  /** What logins and devices are bound to: the password and the factor. @param hash - see {@link passwordOf} */
  stateOf(user: object, { id }: Factor, hash?: string): string {
    return digestOf(`${this.passwordOf(user, hash)} ${id}`)
  }

  validAfter(user: object): number {
    return issuedAfter(this.registration.tokenChecks, user)
  }

  /**
   * Uses a code of a user.
   * @param check - of the user as it is stored now
   * @throws (rejects) ERR_AUTH_CODE_INVALID, ERR_AUTH_TOO_MANY_ATTEMPTS; what `check` throws; AuthenticationFault
   */
  async useCode(
    found: object,
    sub: Sub,
    code: string,
    request: FastifyRequest,
    check: (user: object, factor: Factor | null) => Factor,
  ): Promise<object> {
    const { user, error, left } = await this.store.swap(found, sub, request, (now) =>
      tryCode(check(now, this.store.factorOf(now, sub)), code, this.passwordOf(now)),
    )
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
    const removed = await this.store.swap(user, name, request, toNull(this.store), mostRemovals)
    if (removed.after === undefined) return false
    this.tell('disabled', sub, request)
    return true
  }

  /** Begins the session of a user who has shown a code. @returns the body of the login */
  async begin(request: FastifyRequest, reply: FastifyReply, shown: Shown): Promise<object> {
    const { sub: username, user, started, amr, isSame } = shown
    const confirm = async (): Promise<void> => {
      const now = await this.store.find(username, request)
      if (now === null || !isSame(now)) throw loginExpired('the user has changed meanwhile')
    }
    const authentication = { amr: [...new Set([...amr, 'otp', 'mfa'])] }
    const login = { username, user, started, confirm, authentication }
    return finishLogin(this.registration, request, reply, login)
  }
}
