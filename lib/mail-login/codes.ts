import { createHmac, hkdfSync, timingSafeEqual } from 'node:crypto'
import { isSixDigits, plainCode } from '../common/code.js'
import { digestOf } from '../common/digest.js'
import { secretBytes } from '../tokens/keys/secrets.js'
import { loginExpired, type StepKeys } from '../tokens/step.js'
import type { Quota, Quotas } from '../throttle/quotas.js'
import type { MailLoginOptions } from '../../types/mail-login.js'

const purpose = 'fastify-authn mail login'

/** What is made of the id of a request with the secret that it names. */
export interface MailSecret {
  /** In tokens, it names the secret, of which it tells nothing. */
  readonly name: string
  /** The first part of the `sid` of its session. */
  sessionName(id: string): string
  /** @param state - of the account to which the code logs in */
  codeOf(id: string, state: string): string
}

/** Of keys that were retired since, those are left that still verify. @throws ERR_AUTH_OPTION, ERR_AUTH_KEY */
export function mailSecrets(given: MailLoginOptions['key'], { service, method }: StepKeys) {
  const own = (given === undefined ? [] : [given].flat()).map((secret) =>
    Buffer.from(
      hkdfSync('sha256', secretBytes('mailLogin.key', secret as string), '', purpose, 32),
    ),
  )
  const all = (): MailSecret[] =>
    (own.length > 0 ? own : service.secretsFor(purpose, method)).map(secretOf)
  return {
    current: () => all()[0] as MailSecret,
    /** @throws ERR_AUTH_LOGIN_EXPIRED */
    named(name: string): MailSecret {
      const secret = all().find((each) => each.name === name)
      if (secret === undefined) throw loginExpired('its key is gone')
      return secret
    },
  }
}

function secretOf(secret: Buffer): MailSecret {
  const macOf = (...of: string[]): Buffer =>
    createHmac('sha256', secret).update(JSON.stringify(of)).digest()
  return {
    name: digestOf(secret).slice(0, 8),
    sessionName: (id) => macOf('session', id).subarray(0, 16).toString('base64url'),
    codeOf(id, state) {
      const number = macOf('code', id, state).readUIntBE(0, 6) % 1_000_000
      return String(number).padStart(6, '0')
    },
  }
}

/** Whether a code is right as it was typed. */
export function isSameCode(typed: string, code: string): boolean {
  const digits = plainCode(typed).replace(/\D/g, '')
  return isSixDigits(digits) && timingSafeEqual(Buffer.from(digits), Buffer.from(code))
}

/** Letters that are not taken for others or for digits. */
const letters = 'ACDEFHJKLMNPRTUVWXY'

/** Two letters of a request, by which people find its e-mail among others. */
export const signOf = (id: string): string =>
  [0, 1]
    .map((at) => letters.charAt(Buffer.from(digestOf(id)).readUInt8(at) % letters.length))
    .join('')

/** Counts wrong codes. @member route - tells the counts in Redis from those of other registrations */
export type Guesses = Quotas & { readonly route: string }

export const day = 86_400

/** The wrong codes of one request, and of one address in a day. @param seconds - for which the request works */
export const codesOf = ({ route }: Guesses, id: string, email: string, seconds: number) =>
  [
    { key: `${route}:code:${id}`, most: 5, seconds },
    { key: `${route}:codes:${digestOf(email)}`, most: 30, seconds: day },
  ] as const satisfies Quota[]
