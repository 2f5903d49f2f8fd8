import { isUtf8 } from 'node:buffer'
import fastifyJwt from '@fastify/jwt'
import { typOf } from '../common/typ.js'
import { isCanonical } from '../http/authorization.js'
import { invalidToken } from './claims.js'
import type { SigningMethod } from '../../types/jwt.js'
import type { JwtClaims } from '../../types/request-extra.js'

export interface VerifiedToken {
  /** The claims, frozen but not checked yet. */
  readonly claims: JwtClaims
  /** The `typ` that `typOf()` has found, not checked yet. */
  readonly typ: string | null | undefined
}

/** @throws AuthenticationError for every token that is not valid */
export type VerifySignature = (token: string) => VerifiedToken

/** A secret, or PEM text. A public key alone verifies tokens and cannot sign them. */
export interface EngineKey {
  readonly sign?: Buffer | string
  readonly verify: Buffer | string
}

export interface Engine {
  readonly sign: (claims: Readonly<Record<string, unknown>>, typ?: string) => string
  readonly verify: VerifySignature
}

/** The decorators of @fastify/jwt. Both functions are synchronous without options. */
interface Decorator {
  sign(claims: object): string
  verify(token: string): { readonly header: object; readonly payload: JwtClaims }
}

/**
 * An instance of @fastify/jwt adds `iat` to the claims; with `noTimestamp`, it also drops an `iat` of the caller. So
 * claims with an `iat` are signed by another instance, and so are tokens with another `typ`; each is made when it is
 * first needed.
 */
export function createEngine(key: EngineKey, alg: SigningMethod, kid?: string): Engine {
  const named = kid === undefined ? { alg } : { alg, kid }
  const plain = decorated(key, { ...named, typ: 'JWT' }, false)
  const others = new Map<string, Decorator>()
  return {
    sign(claims, typ = 'JWT') {
      const isDated = claims.iat !== undefined
      if (!isDated && typ === 'JWT') return plain.sign(claims)
      const kind = `${isDated} ${typ}`
      const other = others.get(kind) ?? decorated(key, { ...named, typ }, isDated)
      others.set(kind, other)
      return other.sign(claims)
    },
    verify: strictly(plain),
  }
}

/**
 * Calls the plugin function of @fastify/jwt with an object that has only the three methods that it needs: a whole
 * Fastify instance would add 2 ms to startup. The app can register @fastify/jwt itself.
 */
function decorated(
  key: EngineKey,
  header: { readonly alg: SigningMethod; readonly typ: string },
  isDated: boolean,
): Decorator {
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
      // lib/tokens/claims.ts checks the times: the engine accepts Infinity, and throws a RangeError for a huge nbf.
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

/** Adds the checks of RFC 7515 and RFC 7519 that @fastify/jwt does not make. */
function strictly(engine: Decorator): VerifySignature {
  return (token) => {
    const payloadEnd = token.lastIndexOf('.')
    if (!isCanonical(token.slice(payloadEnd + 1))) throw invalidToken('signature not canonical')
    let decoded: ReturnType<Decorator['verify']>
    try {
      decoded = engine.verify(token)
    } catch (error) {
      throw invalidToken(error)
    }
    // We support no extensions, so any `crit` is rejected (RFC 7515 §4.1.11); the engine accepts a falsy one.
    if ('crit' in decoded.header) throw invalidToken('crit')
    // Claims have to be UTF-8 (RFC 7519 §7.2). The engine would replace other bytes.
    const payload = token.slice(token.indexOf('.') + 1, payloadEnd)
    if (!isUtf8(Buffer.from(payload, 'base64url'))) throw invalidToken('payload not UTF-8')
    freeze(decoded.payload)
    return { claims: decoded.payload, typ: typOf(decoded.header) }
  }
}

/** Freezes claims at every depth, because all requests with one token share them. */
export function freeze(claims: object): void {
  const found = new Set([claims])
  // The loop also visits what is added while it runs. A recursion could overflow the stack.
  for (const object of found) {
    for (const value of Object.values(object) as unknown[]) {
      if (typeof value === 'object' && value !== null) found.add(value)
    }
    Object.freeze(object)
  }
}
