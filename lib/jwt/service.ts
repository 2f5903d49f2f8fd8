import nodeFs from 'node:fs'
import { createSigner, createVerifier } from 'fast-jwt'
import { AuthnUsageError } from '../errors.js'
import { checkJwtConfig } from '../options.js'
import { algorithms } from './algorithms.js'
import { checkClaims, resolveRules, type ResolvedRules } from './claims.js'
import { keyFilePaths, keyFor, parseKeys, readKeyFiles, type KeyRing } from './keys.js'
import { invalidToken } from './token-errors.js'
import type {
  JwtConfig,
  JwtServiceLike,
  KeyFileSystem,
  SigningMethod,
  TokenRules,
} from '../../types/jwt.js'
import type { JwtClaims } from '../../types/request-extra.js'

type Use = 'sign' | 'verify'
type Claims = Readonly<Record<string, unknown>>

/** A ring of keys with the engines made from it: swapped as a whole, so that a reload is all or nothing. */
interface Engines {
  readonly ring: KeyRing
  readonly signers: Map<string, (claims: Claims) => string>
  readonly verifiers: Map<SigningMethod, (token: string) => JwtClaims>
}

/**
 * Issues and verifies tokens (specification, "JWT service"). Keys are read, checked and parsed once.
 *
 * @example
 * const jwtService = new JwtService({ rsa: { private: 'keys/rsa.pem' } }, { fs })
 * await app.register(authn, { userService, jwtService })
 */
export class JwtService implements JwtServiceLike {
  readonly #config: JwtConfig
  readonly #fs: KeyFileSystem
  readonly #rules: ResolvedRules
  readonly #expiry: number
  readonly #wanted: { method: SigningMethod; use: Use; wanted: string }[] = []
  #engines: Engines | undefined
  #loading: Promise<this> | undefined

  /** See {@link JwtServiceLike.signingMethod}. */
  readonly signingMethod: SigningMethod

  /**
   * @param config - keys, and the rules of tokens
   * @param options - `fs`: what reads the key files, any object with `readFile`; default: node:fs
   * @throws ERR_AUTH_OPTION, and ERR_AUTH_KEY for keys that stand in the configuration itself
   */
  constructor(config: JwtConfig, options: { fs?: KeyFileSystem } = {}) {
    this.#config = checkJwtConfig(config)
    this.#fs = options.fs ?? nodeFs
    this.#rules = resolveRules(config)
    this.#expiry = config.expiry ?? 300
    this.signingMethod = config.signingMethod ?? 'HS256'
    if (keyFilePaths(config).length === 0) this.#engines = this.#prepare(new Map())
  }

  /** See {@link JwtServiceLike.load}. */
  load(): Promise<this> {
    this.#loading ??= this.#engines ? Promise.resolve(this) : this.reload()
    return this.#loading
  }

  /** See {@link JwtServiceLike.reload}. */
  async reload(): Promise<this> {
    const engines = this.#prepare(await readKeyFiles(this.#config, this.#fs))
    for (const { method, use, wanted } of this.#wanted) keyFor(engines.ring, method, use, wanted)
    this.#engines = engines
    return this
  }

  #prepare(files: ReadonlyMap<string, string>): Engines {
    return { ring: parseKeys(this.#config, files), signers: new Map(), verifiers: new Map() }
  }

  get #current(): Engines {
    if (this.#engines !== undefined) return this.#engines
    throw new AuthnUsageError(
      'ERR_AUTH_KEY',
      'the key files of this JwtService are not read yet. Await its load() before it is used.',
    )
  }

  /** See {@link JwtServiceLike.require}. */
  require(method: SigningMethod, use: Use, wanted: string): void {
    keyFor(this.#current.ring, method, use, wanted)
    this.#wanted.push({ method, use, wanted })
  }

  /** See {@link JwtServiceLike.canSign}. */
  canSign(signingMethod: SigningMethod = this.signingMethod): boolean {
    return this.#current.ring[algorithms[signingMethod].family]?.sign !== undefined
  }

  /** See {@link JwtServiceLike.canVerify}. */
  canVerify(signingMethod: SigningMethod = this.signingMethod): boolean {
    return this.#current.ring[algorithms[signingMethod].family] !== undefined
  }

  /** See {@link JwtServiceLike.generateToken}. */
  generateToken(id: string | number): string {
    if (!(typeof id === 'string' ? id !== '' : Number.isFinite(id))) {
      throw new AuthnUsageError(
        'ERR_AUTH_CLAIMS',
        `generateToken: found ${id === '' ? 'an empty string' : typeof id} as the id, expected a non-empty string or a finite number.`,
      )
    }
    return this.generateTokenWithClaims({ sub: id })
  }

  /** See {@link JwtServiceLike.generateTokenWithClaims}. */
  generateTokenWithClaims(claims: Claims, signingMethod = this.signingMethod): string {
    const { issuer, audience } = this.#rules
    const now = Math.floor(Date.now() / 1000)
    const payload: Record<string, unknown> = {
      ...(issuer !== undefined && { iss: issuer }),
      ...(audience !== undefined && { aud: audience.length === 1 ? audience[0] : audience }),
      ...claims,
    }
    // Not by the order of the spread: an undefined of the caller must not leave a token without exp.
    if (payload.nbf === undefined) payload.nbf = now
    if (payload.exp === undefined) payload.exp = now + this.#expiry
    checkSignable(claims, payload)
    // The engine adds `iat` unless told otherwise, and drops one of the caller's when it is.
    return this.#signer(signingMethod, payload.iat === undefined)(payload)
  }

  /** See {@link JwtServiceLike.verify}. */
  verify(token: string, signingMethod = this.signingMethod, rules?: TokenRules): JwtClaims {
    const own = rules === undefined ? this.#rules : resolveRules(rules, this.#rules)
    return this.#judge(String(token), signingMethod, own)
  }

  /** See {@link JwtServiceLike.verifier}. */
  verifier(
    signingMethod: SigningMethod | undefined,
    rules: TokenRules,
    wanted: string,
  ): (token: string) => JwtClaims {
    const method = signingMethod ?? this.signingMethod
    const resolved = resolveRules(rules, this.#rules)
    this.require(method, 'verify', wanted)
    return (token) => this.#judge(token, method, resolved)
  }

  #judge(token: string, method: SigningMethod, rules: ResolvedRules): JwtClaims {
    const verifier = this.#verifier(method)
    if (!hasCanonicalSignature(token)) throw invalidToken({ code: 'signature not canonical' })
    let claims: JwtClaims
    try {
      claims = verifier(token)
    } catch (error) {
      throw invalidToken(error)
    }
    checkClaims(claims, rules)
    return claims
  }

  #verifier(method: SigningMethod): (token: string) => JwtClaims {
    const { ring, verifiers } = this.#current
    let verifier = verifiers.get(method)
    if (verifier === undefined) {
      const key = keyFor(ring, method, 'verify', 'verify()')
      // Time claims are judged by us, on every request: the engine takes Infinity, and throws a bare
      // RangeError for a huge nbf.
      verifier = createVerifier({
        key,
        algorithms: [method],
        cache: false,
        ignoreExpiration: true,
        ignoreNotBefore: true,
      }) as (token: string) => JwtClaims
      verifiers.set(method, verifier)
    }
    return verifier
  }

  #signer(method: SigningMethod, noTimestamp: boolean): (claims: Claims) => string {
    const { ring, signers } = this.#current
    const id = `${method} ${noTimestamp}`
    let signer = signers.get(id)
    if (signer === undefined) {
      const key = keyFor(ring, method, 'sign', 'generateTokenWithClaims()')
      signer = createSigner({ key, algorithm: method, noTimestamp })
      signers.set(id, signer)
    }
    return signer
  }
}

/** Unused bits after the last byte must be zero, or one token would have several texts. */
function hasCanonicalSignature(token: string): boolean {
  const signature = token.slice(token.lastIndexOf('.') + 1)
  const rest = signature.length % 4
  if (rest === 0) return true
  const last = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'.indexOf(
    signature.charAt(signature.length - 1),
  )
  return rest !== 1 && (last & (rest === 2 ? 0b1111 : 0b11)) === 0
}

function checkSignable(claims: Claims, payload: Record<string, unknown>): void {
  if (!(claims instanceof Object) || Array.isArray(claims)) {
    throw new AuthnUsageError('ERR_AUTH_CLAIMS', 'claims: expected an object.')
  }
  for (const claim of ['nbf', 'exp', 'iat']) {
    const value = payload[claim]
    if (value === undefined) continue
    if (typeof value !== 'number' || !Number.isFinite(value) || value < 1) {
      throw new AuthnUsageError(
        'ERR_AUTH_CLAIMS',
        `claim "${claim}": found ${typeof value === 'number' ? value : typeof value}, expected seconds since 1970, 1 or more.`,
      )
    }
    payload[claim] = Math.floor(value)
  }
}
