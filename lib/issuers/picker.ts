import type { FastifyRequest } from 'fastify'
import { LRUCache } from 'lru-cache'
import { kFacts, readsCookie, type KnownAuthenticator } from '../authenticators/facts.js'
import { credentialsOf } from '../http/authorization.js'
import { invalidToken } from '../tokens/invalid.js'
import { unverifiedIssuer } from './token.js'
import type { Authenticator } from '../../types/authenticator.js'

/** Makes one authenticator of several. */
export type Combine = (...members: Authenticator[]) => Authenticator

/**
 * Combines authenticators where issuers are among them. Of several for Bearer, the `iss` of the token picks the one that
 * is asked, and no other is: each token is judged by the keys of the issuer that it names. A token that names none of
 * the issuers goes to the others, such as `jwt`, and where there are none it is refused.
 *
 * @param issuers - the `iss` of each issuer's authenticator
 * @param combine - combines authenticators by their schemes
 */
export function combineByIssuer(
  issuers: ReadonlyMap<Authenticator, string>,
  combine: Combine,
): Combine {
  return (...members) => {
    const bearers = members.filter(({ scheme }) => scheme?.toLowerCase() === 'bearer')
    if (bearers.length < 2 || !bearers.some((each) => issuers.has(each))) return combine(...members)
    const picker = createPicker(bearers, issuers, combine)
    const rest = members.filter((each) => !bearers.includes(each))
    return rest.length === 0 ? picker : combine(picker, ...rest)
  }
}

/** Whom a token was given to. */
interface Pick {
  readonly token: string
  readonly picked: Authenticator | undefined
}

/** A token is looked up by its end, as in lib/jwt/remembered.ts. */
const keyLength = 12

/**
 * The picks of the last tokens, good and bad ones, since to read the `iss` of each again makes a request 7 % dearer. A
 * pick follows from nothing but the text of the token, so that it is never out of date.
 */
function recentPicks(): LRUCache<string, Pick> {
  const sizeCalculation = ({ token }: Pick): number => 128 + token.length
  return new LRUCache({ max: 10_000, maxSize: 4 * 2 ** 20, sizeCalculation })
}

function createPicker(
  bearers: readonly Authenticator[],
  issuers: ReadonlyMap<Authenticator, string>,
  combine: Combine,
): Authenticator {
  const byIssuer = new Map(
    bearers.flatMap((each) => (issuers.has(each) ? [[issuers.get(each), each] as const] : [])),
  )
  const others = bearers.filter((each) => !issuers.has(each))
  const other = others.length > 1 ? combine(...others) : others[0]
  const recent = recentPicks()

  /** @returns undefined for a token that nobody here would judge */
  function pick({ headers: { authorization } }: FastifyRequest): Authenticator | undefined {
    const token = credentialsOf(authorization, 'Bearer')
    if (typeof token !== 'string') return other
    const known = recent.get(token.slice(-keyLength))
    if (known?.token === token) return known.picked
    const picked = byIssuer.get(unverifiedIssuer(token)) ?? other
    // Stored as a copy: a slice of the header would keep the whole header in memory.
    recent.set(token.slice(-keyLength), { token: Buffer.from(token).toString(), picked })
    return picked
  }

  const { onUnauthorized } = other ?? {}
  const picker: KnownAuthenticator = {
    [kFacts]: { members: bearers, readsCookie: others.some(readsCookie) },
    scheme: 'Bearer',
    optional: bearers.every(({ optional }) => optional === true),
    authenticate(request) {
      const { authorization } = request.headers
      // Cookies hold tokens of our own.
      if (authorization === undefined) return other?.authenticate(request) ?? null
      if (!credentialsOf(authorization, 'Bearer')) return null
      const picked = pick(request)
      if (picked === undefined) throw invalidToken('claim iss')
      return picked.authenticate(request)
    },
    ...(onUnauthorized && {
      onUnauthorized: (...args) => {
        const picked = pick(args[1])
        return picked === other ? picked?.onUnauthorized?.(...args) : undefined
      },
    }),
  }
  return picker
}
