import { randomBytes } from 'node:crypto'
import type { FastifyRequest } from 'fastify'
import { digestOf } from '../common/digest.js'
import { askApp } from '../errors/ask.js'
import { rejection } from '../errors/errors.js'
import { longestTolerance } from '../options/jwt-schemas.js'
import { noGuess } from '../login/proof.js'
import { issuedAfter, noClaims } from '../login/token.js'
import { StoredAccounts, type Account } from '../login/stored-accounts.js'
import { loginExpired, stepTime, stepTokens, type StepKeys } from '../tokens/step.js'
import { asUnknown, withUserTimeout } from '../users/user.js'
import { codesOf, isSameCode, mailSecrets, signOf, type Guesses, type MailSecret } from './codes.js'
import type { ResolvedMailLogin } from './options.js'
import type { Registration } from '../feature.js'
import type { Mails } from '../mail/mails.js'
import type { FinishedLogin } from '../tokens/issued.js'

interface Claims {
  readonly id: string
  readonly email: string
  /** The option `accounts.url`, which tells apps with the same keys apart. */
  readonly url: string
  /** The name of the secret of the code. */
  readonly key: string
  /** When the e-mail was asked for, in milliseconds since 1970. */
  readonly began: number
  /** Names the client that has asked: see `dayNames` of the limits. */
  readonly by: readonly string[]
  /** Of the account: see `stateOf`. Only links have it: for a code, the user is looked up after the response. */
  readonly state?: string
}

interface OpenedMail extends Claims {
  readonly exp: number
}

/** A link or a code that is right, and what its login needs. */
export interface Shown extends Pick<FinishedLogin, 'began' | 'once'> {
  readonly id: string
  readonly exp: number
  readonly by: readonly string[]
  readonly email: string
  readonly account: Account | null
  readonly state: string
  /** @throws (rejects) ERR_AUTH_LOGIN_EXPIRED where the account has changed meanwhile */
  confirm(): Promise<void>
}

export const codeInvalid = (cause: string): Error => rejection('auth.mail-code-invalid', { cause })

/** The state of an address without an account. */
const none = 'none'

export const changed =
  'the account or its sessions have changed since, or it may not log in by an e-mail'

export interface MailLoginSettings extends ResolvedMailLogin {
  readonly signUp: boolean
  /** Whether users without a password may log in. */
  readonly isOpen: boolean
  readonly url: string
}

export class MailLoginTools {
  created = 0
  readonly #tokens: ReturnType<typeof stepTokens<Claims>>
  readonly #secrets: ReturnType<typeof mailSecrets>

  constructor(
    readonly resolved: MailLoginSettings,
    keys: StepKeys,
    readonly accounts: StoredAccounts,
    readonly mails: Mails,
    readonly guesses: Guesses,
    readonly registration: Registration,
  ) {
    const foreign = 'its token is of another app or registration'
    this.#tokens = stepTokens(keys, { option: 'mailLogin', typ: 'mail-login+jwt', foreign })
    this.#secrets = mailSecrets(resolved.given.key, keys)
  }

  /** @param started - of the request, by the clock of `performance.now()` */
  begin(email: string, by: readonly string[], started: number) {
    const { url, expiresIn } = this.resolved
    const id = randomBytes(16).toString('base64url')
    const secret = this.#secrets.current()
    const began = Date.now() - Math.ceil(performance.now() - started)
    const claims = { id, email, url, key: secret.name, began, by }
    const make = (state?: string) =>
      this.#tokens.make({ ...claims, ...(state && { state }) }, expiresIn)
    const sign = signOf(id)
    return {
      asked: { token: make(), expiresIn, sign },
      /** What the e-mail has that logs in to an account. */
      content: (state: string) => {
        const token = make(state)
        const code = this.resolved.code && { code: secret.codeOf(id, state) }
        return { link: `${url}/login#${token}`, token, expiresIn, sign, ...code }
      },
    }
  }

  /** What an e-mail is bound to. It reveals nothing, since a hash contains a salt. */
  async stateOf(account: Account | null, request: FastifyRequest): Promise<string> {
    if (account === null) return none
    const { user, values } = account
    const sub = await this.accounts.subOf(account, request, noClaims)
    const validAfter = issuedAfter(this.registration.tokenChecks, user)
    return digestOf(JSON.stringify([`${sub}`, values.email, values.passwordHash, validAfter]))
  }

  /** Whether a user may log in by an e-mail. @throws (rejects) ERR_AUTH_MAIL_LOGIN */
  async accepts({ user, hasPassword }: Account, request: FastifyRequest): Promise<boolean> {
    const { given, isOpen } = this.resolved
    if (given.accept === undefined) return isOpen || hasPassword
    const ask = askApp<unknown>('ERR_AUTH_MAIL_LOGIN', () => given.accept?.(user, request))
    return (await withUserTimeout(ask, this.registration.options.userServiceTimeout)) === true
  }

  /** @throws (rejects) ERR_AUTH_LOGIN_EXPIRED, ERR_AUTH_MAIL_CODE_INVALID */
  async read(token: string, typed: string | undefined, request: FastifyRequest): Promise<Shown> {
    const claims = this.#tokens.read(token, ({ url }) => url === this.resolved.url) as OpenedMail
    const left = claims.exp - Date.now() / 1000
    // Clocks have no tolerance here: how long it is remembered that all sessions were revoked has none.
    if (left <= 0) throw loginExpired('its e-mail has expired')
    const secret = this.#secrets.named(claims.key)
    const { id, email, by, began, exp } = claims
    const { account, state } =
      claims.state === undefined
        ? await this.#readCode(claims, secret, typed, left, request)
        : await this.#look(email, request)
    const isSame = claims.state === undefined || claims.state === state
    const accepts = (found: Account | null) =>
      found === null ? this.resolved.signUp : this.accepts(found, request)
    if (!isSame || !(await accepts(account))) throw loginExpired(changed)
    return {
      id,
      exp,
      by,
      email,
      account,
      state,
      began,
      // A second factor may follow.
      once: {
        name: secret.sessionName(id),
        until: exp + stepTime + longestTolerance,
        bound: JSON.stringify([email, state]),
      },
      confirm: () => this.confirm(email, state, request),
    }
  }

  /** The account of an address as it is now, and what its e-mails are bound to. */
  async #look(email: string, request: FastifyRequest) {
    const account = await this.accounts.find(email, request).catch(asUnknown(request))
    return { account, state: await this.stateOf(account, request) }
  }

  async #readCode(
    { id, email }: OpenedMail,
    secret: MailSecret,
    typed: string | undefined,
    left: number,
    request: FastifyRequest,
  ) {
    if (typed === undefined || !this.resolved.code) throw loginExpired('no code')
    const { guesses } = this
    const [ofRequest, ofAddress] = codesOf(guesses, id, email, Math.ceil(left))
    // Counted before the check, so that simultaneous ones do not exceed a limit.
    if ((await guesses.count(ofRequest)) > 0) throw loginExpired('five wrong codes')
    if ((await guesses.count(ofAddress)) > 0) {
      await guesses.takeBack(ofRequest)
      // A stranger has made them wrong, who must not end the request or the session of the user too.
      throw noGuess(codeInvalid('too many wrong codes for its address'))
    }
    const takeBack = () => guesses.takeBack(ofRequest, ofAddress)
    const found = await this.#look(email, request).catch(async (error: unknown) => {
      await takeBack()
      throw error
    })
    if (!isSameCode(typed, secret.codeOf(id, found.state))) throw codeInvalid('a wrong code')
    await takeBack()
    return found
  }

  /** A login ends the counts of e-mails. */
  async forget({ email, state, by }: Shown): Promise<void> {
    const { limits } = this.mails
    await limits.forgetAll(limits.mailbox(email, state), ...limits.daily(by))
  }

  /** @throws (rejects) ERR_AUTH_LOGIN_EXPIRED where the account of a state has changed meanwhile */
  async confirm(email: string, state: string, request: FastifyRequest): Promise<void> {
    const { account, state: now } = await this.#look(email, request)
    const isSame = account !== null && now === state
    if (!isSame || !(await this.accepts(account, request))) throw loginExpired(changed)
  }
}
