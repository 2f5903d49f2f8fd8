import type { FastifyRequest } from 'fastify'
import { declaredProperty } from '../common/objects.js'
import { faultOf, rejectionOrFault, wrongOption } from '../errors/errors.js'
import { spellingOf } from '../throttle/throttle.js'
import { isUsableName } from '../users/user.js'
import type { IssueTokens } from '../feature.js'
import type { IssuedTokens, TokenCheck } from '../tokens/issued.js'
import type { JwtService } from '../tokens/service.js'
import type { ResolvedLogin, ResolvedOptions } from '../options/resolve.js'
import type { LoginOptions } from '../../types/login.js'
import type { JwtClaims } from '../../types/request-extra.js'

/** Makes tokens by `tokenFunc` of the app, or with the claims of {@link claimsMaker}. @throws ERR_AUTH_OPTION */
export function tokenIssuer(
  { login }: ResolvedOptions,
  service: JwtService,
  tokenChecks: readonly TokenCheck[],
): IssueTokens {
  const { tokenFunc, subject, signingMethod }: LoginOptions = login || {}
  if (tokenFunc !== undefined && subject !== undefined) {
    wrongOption(
      'options "login.subject" and "login.tokenFunc" are both set, but tokenFunc makes the whole token, "sub" included. Leave one of them out.',
    )
  }
  const claimsOf = claimsMaker(login)
  const make = async (
    ...[username, request, user]: Parameters<ClaimsOf>
  ): Promise<IssuedTokens> => {
    if (tokenFunc !== undefined) {
      return { token: checkToken(await tokenFunc(request, user, service)) }
    }
    const own = await claimsOf(username, request, user)
    const iat = tokenChecks.length > 0 && { iat: issuedAt(Date.now() / 1000, user, tokenChecks) }
    const token = service.generateTokenWithClaims({ ...own, ...iat }, signingMethod)
    return { token, expiresIn: service.expiry }
  }
  return async (username, request, user, attempt) => {
    const tokens = await make(username, request, user).catch((error: unknown) => {
      throw rejectionOrFault('ERR_AUTH_TOKEN_FUNC', error)
    })
    // Without a check, a token is valid until it expires whatever changes, so nothing has to be confirmed.
    if (tokenFunc !== undefined || tokenChecks.length > 0) await attempt.confirm?.()
    return tokens
  }
}

function checkToken(token: unknown): string {
  if (typeof token === 'string' && token !== '') return token
  const found = token === '' ? 'an empty string' : typeof token
  throw new TypeError(`tokenFunc returned ${found}, expected a token.`)
}

/** The least `iat` that all checks accept in a token of a user; 0 where all of them accept any. */
export function issuedAfter(checks: readonly TokenCheck[], user: object): number {
  return Math.max(0, ...checks.map((check) => check.issuedAfter?.(user) ?? 0))
}

/** The claim `iat` in seconds, rounded up where all tokens of the user were just revoked, so that this one is newer. */
export function issuedAt(now: number, user: object, checks: readonly TokenCheck[]): number {
  return Math.max(Math.floor(now), Math.ceil(issuedAfter(checks, user)))
}

/** Claims that only the plugin sets, so that tokens can be revoked and expire in time. */
const reserved = ['sid', 'jti', 'iat', 'nbf', 'exp', 'auth_time', 'amr'] as const

export interface OwnClaims extends Partial<JwtClaims> {
  readonly sub: string | number
}

type ClaimsOf = ReturnType<typeof claimsMaker>

/**
 * Makes the function that asks the app for the claims of a user's tokens. A login calls it with the submitted username, a
 * refresh with the `sub` of the session. It rejects with an AuthenticationError that `login.subject` or `login.claims`
 * throws, and with an AuthenticationFault if they fail, or for another `sub` than that by which `accounts` revokes sessions.
 * @param accountSubjects - `login.subject` of this registration and of related ones, where they have `accounts`
 */
export function claimsMaker(
  login: ResolvedLogin | false,
  accountSubjects: () => readonly LoginOptions['subject'][] = () => [],
) {
  const { subject, claims, usernameField }: LoginOptions = login || {}
  const nameFields = new Set([usernameField ?? 'username', 'username', 'name', 'email'])
  let hasWarned = false
  return async (name: string | number, request: FastifyRequest, user: object, asked = claims) => {
    try {
      const sub = subject === undefined ? name : await subject(user, String(name))
      const own = checked((await asked?.(request, user)) ?? {}, sub)
      for (const other of accountSubjects()) {
        const expected = other === subject ? sub : await other?.(user, String(name))
        // As text: stores have `sub` as a string.
        if (String(own.sub) === String(expected)) continue
        const text = other === subject ? otherSubject : foreignSubject
        throw faultOf('ERR_AUTH_ACCOUNTS', new TypeError(text))
      }
      if (!hasWarned && isOtherSpelling(own.sub, user, nameFields)) {
        hasWarned = true
        request.log.warn(otherSpelling)
      }
      return own
    } catch (error) {
      throw rejectionOrFault('ERR_AUTH_TOKEN_FUNC', error)
    }
  }
}

/** In place of `login.claims`, which may reject the user, where there is no login. */
export const noClaims = () => ({})

/** The option `accounts` could not find the sessions of the user. */
const otherSubject =
  'login.claims returned another "sub" than login.subject, so that "accounts" could not revoke sessions by it. Return it from login.subject, and leave it out of login.claims.'

const foreignSubject =
  'the "sub" is not the one that "login.subject" of the registration with "accounts" returns, so its resets could not revoke this session. "login.subject" has to return the same in both registrations.'

const otherSpelling =
  "fastify-authn: findByUsername found a user whose name is spelled differently from the submitted one, such as Alice for alice. Tokens and sessions have the submitted name, so revoke({ sub: 'alice' }) leaves Alice logged in. Set login: { subject: (user) => user.name }, with the name by which findByUsername finds the user. This is logged once"

function isOtherSpelling(sub: unknown, user: object, fields: ReadonlySet<string>): boolean {
  if (typeof sub !== 'string') return false
  const names = [...fields].map((field) => declaredProperty(user, field))
  const isSame = (name: unknown): boolean =>
    typeof name === 'string' && spellingOf(name) === spellingOf(sub)
  return !names.includes(sub) && names.some(isSame)
}

/** @param claims - what `login.claims` has returned */
function checked(claims: unknown, subject: unknown): OwnClaims {
  if (typeof claims !== 'object' || Array.isArray(claims)) {
    throw new TypeError('login.claims must return an object of claims.')
  }
  const given = { ...claims } as Record<string, unknown>
  const taken = reserved.filter((claim) => given[claim] !== undefined)
  if (taken.length > 0) {
    throw new TypeError(`login.claims returned ${taken.join(', ')}, which the plugin sets itself.`)
  }
  const { sub = subject } = given
  const isNamed = isUsableName(subject)
  if (isNamed && isUsableName(sub)) return { ...given, sub }
  const source = isNamed ? 'login.claims' : 'login.subject'
  throw new TypeError(
    `${source} returned a "sub" that is not a name: expected a non-empty string of at most 1,024 bytes without control characters, or a finite number.`,
  )
}
