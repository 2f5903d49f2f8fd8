import type { FastifyRequest } from 'fastify'
import { isStored, notFound } from '../common/stored.js'
import { swap } from '../common/swap.js'
import { askApp } from '../errors/ask.js'
import { faultOf } from '../errors/errors.js'
import { channelOf } from '../events.js'
import { noGuess } from '../login/proof.js'
import { asUnknown, findForLogin, findUserOf, isUsableName } from '../users/user.js'
import { stepTime } from '../tokens/step.js'
import { timeIn, type CeremonyTokens } from './tokens.js'
import { invalid, type Verifier } from './verify.js'
import type { Registration } from '../feature.js'
import type { ResolvedLogin } from '../options/resolve.js'
import type { ResolvedPasskeys } from './options.js'
import type { Passkey, PasskeyEvent } from '../../types/passkeys.js'

/** The longest user handle, 64 bytes in base64url (WebAuthn §5.4.3). */
const longestHandle = 86

export interface Owner {
  /** As `findByUsername` has returned it. */
  readonly user: object
  readonly sub: string | number
}

export class PasskeyTools {
  constructor(
    readonly resolved: ResolvedPasskeys,
    readonly tokens: CeremonyTokens,
    readonly verifier: Verifier,
    readonly registration: Registration,
  ) {}

  /** Removes all passkeys of a user. @returns how many */
  async removeAll(name: string | number, request: FastifyRequest): Promise<number> {
    if (!isUsableName(name)) return 0
    const user = await findUserOf(this.registration.options, name, request)
    if (user === null) return 0
    const owner = { user, sub: await this.#subOf(user, name) }
    const passkeys = await this.list(owner)
    for (const { id } of passkeys) {
      await this.ask<unknown>((given) => given.remove(user, id, true))
      this.tell('removed', owner, id, request)
    }
    if ((await this.list(owner)).length === 0) return passkeys.length
    throw notFound('ERR_AUTH_PASSKEYS', 'passkeys.remove', 'passkeys.list')
  }

  /**
   * The user of a handle, which an authenticator returns and a client may have made up. Only a `sub` finds a user, and no
   * other name does, such as an address. Nothing slow is asked for a user who is found, since the client has proved nothing yet.
   * @throws (rejects) ERR_AUTH_PASSKEY_INVALID
   */
  async ownerOf(handle: string | undefined, request: FastifyRequest): Promise<Owner> {
    if (handle === undefined) throw invalid('no user handle')
    const bytes = Buffer.from(handle, 'base64url')
    const mapped = await this.ask(({ username }) => username?.(bytes))
    const name: unknown = mapped ?? subIn(bytes)
    if (!isUsableName(name)) throw invalid('its user handle')
    const find = findForLogin(this.registration.options, name, request)
    const user = await find.catch(asUnknown(request))
    if (user === null) throw invalid('user not found')
    const sub = await this.#subOf(user, name)
    // As text: a driver may return 7 as '7'.
    if ((mapped ?? null) === null && String(sub) !== String(name))
      throw invalid('its user handle is no sub')
    return { user, sub }
  }

  #subOf(user: object, name: string | number) {
    const { subject } = this.registration.options.login as ResolvedLogin
    return askApp('ERR_AUTH_TOKEN_FUNC', () => subject?.(user, String(name)) as string | number)
  }

  /** The handle that browsers know: that of older passkeys, even if `sub` is of another type now. @throws AuthenticationFault */
  async handleOf({ user, sub }: Owner, passkeys: readonly Passkey[]): Promise<string> {
    const known = passkeys.find(({ handle }) => handle !== undefined)
    const handle = known?.handle ?? Buffer.from(JSON.stringify(sub)).toString('base64url')
    const isSubject = String(await this.#subOf(user, sub)) === String(sub)
    if (isSubject && handle.length <= longestHandle) return handle
    throw fault(
      'passkeys find their user by what login.subject returns. Return an id of at most 62 bytes there, and leave "sub" out of login.claims.',
    )
  }

  async list({ user }: Pick<Owner, 'user'>): Promise<readonly Passkey[]> {
    const found: unknown = await this.ask((given) => given.list(user))
    if (Array.isArray(found) && found.every(isPasskey)) return found
    throw fault(
      'passkeys.list() returned something else than an array of passkeys as add() got them: objects with the strings id and publicKey, the numbers counter and at, and the array used.',
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
  async hasOtherWay({ user }: Owner): Promise<boolean> {
    const { features, options, passwords } = this.registration
    const asksForPasswords = options.login !== false && options.login.passwords !== false
    if (asksForPasswords && passwords.hasPassword(user)) return true
    for (const feature of features) if (await feature.letsIn?.(user)) return true
    return false
  }

  ask<T>(work: (given: ResolvedPasskeys['given']) => T | Promise<T>): Promise<T> {
    return askApp('ERR_AUTH_PASSKEYS', () => work(this.resolved.given))
  }

  tell(action: PasskeyEvent['action'], { sub }: Owner, id: string, request: FastifyRequest): void {
    const { name: registration } = this.registration
    channelOf('passkey').publish({ action, sub: String(sub), id, request, registration })
  }
}

export const unknown = (): Error => invalid('not a passkey of this user')

const fault = (text: string): Error => faultOf('ERR_AUTH_PASSKEYS', new TypeError(text))

function subIn(handle: Buffer): unknown {
  try {
    const sub: unknown = JSON.parse(handle.toString())
    // Databases fail at numbers that are no integers of 64 bits.
    const isNoId = typeof sub === 'number' && !(sub % 1 === 0 && Math.abs(sub) < 2 ** 63)
    return isNoId ? undefined : sub
  } catch {
    return undefined
  }
}

const mostUsed = 32

/**
 * Adds a challenge to those that a passkey has signed, so that each works once, in any order. All before the first one count as
 * used. Where a clock was fast, the list has times that have not come, of which the first 16 stay.
 * @throws ERR_AUTH_PASSKEY_INVALID
 */
export function usedWith({ at, used }: Passkey, id: string): string[] {
  // An earlier build has stored the time of the last one alone.
  const old = `${String(at).padStart(16, '0')}~`
  const known = used ?? (old > timeIn(stepTime) ? ['0', old] : [old])
  const isPossible = (each: string): boolean => each < timeIn(stepTime)
  if (known.includes(id) || id <= (known.find(isPossible) ?? '0'))
    throw noGuess(invalid('it has signed this challenge before'))
  const all = [...known, id].toSorted()
  if (all.length <= mostUsed) return all
  const possible = all.filter(isPossible)
  return [...possible.slice(-mostUsed), ...all.slice(possible.length).slice(0, mostUsed / 2)]
}

function isPasskey(value: unknown): value is Passkey {
  const { id, publicKey, counter, at, used } = Object(value) as Record<keyof Passkey, unknown>
  const areTexts = typeof id === 'string' && typeof publicKey === 'string'
  if (!Array.isArray(used ?? [])) return false
  return areTexts && Number.isFinite(counter) && Number.isFinite(at)
}
