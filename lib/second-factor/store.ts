import type { FastifyRequest } from 'fastify'
import { isStored, notFound } from '../common/stored.js'
import { swap } from '../common/swap.js'
import { declaredProperty } from '../common/objects.js'
import { findUserOf } from '../users/user.js'
import { fault } from './box.js'
import { loginExpired } from '../tokens/step.js'
import type { Factor } from './factor.js'
import type { ResolvedSecondFactor } from './options.js'
import type { ResolvedOptions } from '../options/resolve.js'

export type Sub = string | number

/** The second factors of users, each of which is one encrypted text in a field of the app. */
export class FactorStore {
  constructor(
    private readonly resolved: ResolvedSecondFactor,
    private readonly options: ResolvedOptions,
  ) {}

  /** @param isOther - the field may be missing @returns null for none @throws ERR_AUTH_SECOND_FACTOR */
  textOf(user: object, isOther = false): string | null {
    const { field } = this.resolved
    const text = declaredProperty(user, field)
    if (text === null || typeof text === 'string') return text
    if (isOther) return null
    throw fault(
      `found a user whose field ${JSON.stringify(field)} is ${typeof text}, expected a string or null. Return it from findByUsername, or name the field in the option "secondFactor.field".`,
    )
  }

  /** @throws ERR_AUTH_SECOND_FACTOR for a text that no key opens, or of another user */
  factorOf(user: object, sub: Sub): Factor | null {
    const text = this.textOf(user)
    return text === null ? null : (this.resolved.box.open(text, `factor of ${sub}`) as Factor)
  }

  async find(name: Sub, request: FastifyRequest): Promise<object | null> {
    return findUserOf(this.options, name, request)
  }

  /**
   * Stores a change by compare-and-swap. Whoever loses to another request reads the user again.
   * @param name - of the user: the `sub`, unless all changes store null
   * @param change - of the user as it is stored now; without `after`, there is nothing to store
   * @throws (rejects) ERR_AUTH_OVERLOADED after too many lost swaps; what `change` throws
   */
  async swap<Change extends { readonly after?: Factor | null }>(
    found: object,
    name: Sub,
    request: FastifyRequest,
    change: (user: object) => Change,
    most?: number,
  ): Promise<Change & { readonly user: object }> {
    let user = found
    const attempt = async () => {
      const changed = change(user)
      if (await this.#store(user, name, changed.after)) return { ...changed, user }
      const now = await this.find(name, request)
      if (now === null) throw loginExpired('the user is gone')
      user = now
      return null
    }
    return swap(attempt, 'secondFactor.update', most)
  }

  hasCodes(user: object, sub: Sub, codes: readonly string[]): boolean {
    return this.factorOf(user, sub)?.codes.join() === codes.join()
  }

  /** Reads back recovery codes before they are shown. @throws (rejects) ERR_AUTH_LOGIN_EXPIRED, ERR_AUTH_SECOND_FACTOR */
  async requireCodes(before: object, sub: Sub, request: FastifyRequest, codes: readonly string[]) {
    const user = await this.find(sub, request)
    if (user && this.hasCodes(user, sub, codes)) return
    if (user && this.textOf(user) === this.textOf(before))
      throw notFound('ERR_AUTH_SECOND_FACTOR', 'secondFactor.update', 'findByUsername')
    throw loginExpired('the second factor has changed')
  }

  async #store(user: object, sub: Sub, after: Factor | null | undefined): Promise<boolean> {
    if (after === undefined) return true
    const { given, box } = this.resolved
    const text = after && box.seal(after, `factor of ${sub}`)
    try {
      const answer: unknown = await given.update(user, text, this.textOf(user))
      if (answer instanceof Error) throw answer
      return isStored(answer, 'ERR_AUTH_SECOND_FACTOR', 'secondFactor.update')
    } catch (error) {
      throw fault('update() of the option "secondFactor" has failed', error)
    }
  }
}
