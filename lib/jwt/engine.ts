import { isUtf8 } from 'node:buffer'
import fastifyJwt from '@fastify/jwt'
import { LRUCache } from 'lru-cache'
import { typOf } from '../common/typ.js'
import { isCanonical } from '../http/base64.js'
import { invalidToken } from './token-errors.js'
import type { SigningMethod } from '../../types/jwt.js'
import type { JwtClaims } from '../../types/request-extra.js'

/** Signs claims; `typ` says in the header what the token is for, default `JWT`. */
export type Sign = (claims: Readonly<Record<string, unknown>>, typ?: string) => string

/** A token whose signature is good. */
export interface VerifiedToken {
  /** Frozen, but not checked yet. */
  readonly claims: JwtClaims
  /** What its header says that it is for, not checked yet: see `typOf()`. */
  readonly typ: string | null | undefined
}

/** Verifies the signature of a token. */
export type VerifySignature = (token: string) => VerifiedToken

/** A secret, or the PEM text of a key pair. With a public key alone, tokens can be verified and not signed. */
export interface EngineKey {
  readonly sign?: Buffer | string
  readonly verify: Buffer | string
}

/** Signs and verifies with one key and one method. */
export interface Engine {
  readonly sign: Sign
  readonly verify: VerifySignature
}

/** What @fastify/jwt adds to an instance. Both functions are synchronous when they are called without options. */
interface Decorator {
  sign(claims: object): string
  verify(token: string): { readonly header: object; readonly payload: JwtClaims }
}

/** The header of the tokens that are signed (RFC 7515 §4.1). */
interface Header {
  readonly alg: SigningMethod
  readonly typ: string
  readonly kid?: string
}

/** How many instances of @fastify/jwt are kept for signing: few apps have more than one other purpose of tokens. */
const mostSigners = 16

/**
 * Makes the engine for a key and a method: an instance of @fastify/jwt. That adds `iat` to the claims; told not to
 * (`noTimestamp`), it also drops an `iat` of the caller. So claims with an `iat` are signed by another instance, and
 * so are those with another `typ`; each is made when it is needed for the first time.
 *
 * @param kid - names the key in the header of the tokens that are signed; default: they have no such member
 */
export function createEngine(key: EngineKey, method: SigningMethod, kid?: string): Engine {
  const headerOf = (typ: string): Header => ({
    alg: method,
    typ,
    ...(kid !== undefined && { kid }),
  })
  const plain = decorated(key, headerOf('JWT'), false)
  const others = new LRUCache<string, Decorator>({ max: mostSigners })
  return {
    sign(claims, typ = 'JWT') {
      const isDated = claims.iat !== undefined
      if (!isDated && typ === 'JWT') return plain.sign(claims)
      const kind = `${isDated} ${typ}`
      const other = others.get(kind) ?? decorated(key, headerOf(typ), isDated)
      others.set(kind, other)
      return other.sign(claims)
    },
    verify: strictly((token) => plain.verify(token)),
  }
}

/**
 * Calls the plugin function of @fastify/jwt with an object that has only the three methods that it needs, because a
 * whole Fastify instance would add 2 ms to the boot. Nothing reaches the instance of the app, which may register
 * @fastify/jwt for itself.
 */
function decorated(key: EngineKey, header: Header, isDated: boolean): Decorator {
  let decorator: unknown
  const instance = {
    decorate(_name: 'jwt', value: unknown) {
      decorator = value
    },
    decorateRequest() {},
    decorateReply() {},
  }
  fastifyJwt(
    instance,
    {
      secret:
        typeof key.verify === 'string' ? { private: key.sign, public: key.verify } : key.verify,
      sign: { algorithm: header.alg, noTimestamp: !isDated, header },
      // lib/jwt/claims.ts checks the times: the engine accepts Infinity, and throws a RangeError for a huge nbf.
      verify: {
        algorithms: [header.alg],
        cache: false,
        complete: true,
        ignoreExpiration: true,
        ignoreNotBefore: true,
      },
    },
    (error) => {
      if (error !== undefined) throw error
    },
  )
  return decorator as Decorator
}

/**
 * Adds the checks of RFC 7515 and RFC 7519 that @fastify/jwt does not make.
 *
 * @returns a function that throws AuthenticationError for every token that is not valid
 */
function strictly(verify: Decorator['verify']): VerifySignature {
  return (token) => {
    const payloadEnd = token.lastIndexOf('.')
    if (!isCanonical(token.slice(payloadEnd + 1))) throw invalidToken('signature not canonical')
    let decoded: ReturnType<Decorator['verify']>
    try {
      decoded = verify(token)
    } catch (error) {
      throw invalidToken(error)
    }
    // We support no extensions, so any `crit` is refused (RFC 7515 §4.1.11); the engine accepts a falsy one.
    if ('crit' in decoded.header) throw invalidToken('crit')
    // Claims have to be UTF-8 (RFC 7519 §7.2). The engine replaces invalid bytes by U+FFFD; where one is found,
    // the bytes themselves are checked.
    if (deepFreeze(decoded.payload) && !isUtf8(payloadOf(token, payloadEnd))) {
      throw invalidToken('payload not UTF-8')
    }
    return { claims: decoded.payload, typ: typOf(decoded.header) }
  }
}

function payloadOf(token: string, end: number): Buffer {
  return Buffer.from(token.slice(token.indexOf('.') + 1, end), 'base64url')
}

/** The character by which decoders replace bytes that are not UTF-8. */
const replacement = '\ufffd'

/**
 * Freezes claims at every depth, because all requests with the same token share one object. It works through a list
 * and does not call itself, because deeply nested claims would overflow the stack.
 *
 * @returns whether a key or a text contains U+FFFD, which may stand for bytes that are not UTF-8
 */
function deepFreeze(claims: object): boolean {
  let isDoubtful = false
  const found = [claims]
  // The loop also visits what is added to the array while it runs.
  for (const object of found) {
    for (const key of Object.keys(object)) {
      const value = (object as Record<string, unknown>)[key]
      const isText = typeof value === 'string'
      isDoubtful ||= key.includes(replacement) || (isText && value.includes(replacement))
      if (typeof value === 'object' && value !== null) found.push(value)
    }
    Object.freeze(object)
  }
  return isDoubtful
}
