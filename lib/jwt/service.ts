import nodeFs from 'node:fs'
import { AuthnUsageError } from '../errors.js'
import { checkJwtConfig, checkTokenRules } from '../options.js'
import { kKeyOf } from '../symbols.js'
import { isThenable } from '../objects.js'
import { algorithmOf } from './algorithms.js'
import { checkClaims, resolveRules, toSignable, type ResolvedRules } from './claims.js'
import { createSign, createVerifySignature, type Sign, type VerifySignature } from './engine.js'
import { keyFilePaths, readKeyFiles } from './key-files.js'
import { parseKeys } from './key-parsing.js'
import { keyFor, type KeyRing, type LoadedKey } from './keys.js'
import { rememberTokens, type TokenMemoryOptions } from './token-memory.js'
import type {
  JwtConfig,
  JwtServiceLike,
  KeyFileSystem,
  SigningMethod,
  TokenRules,
} from '../../types/jwt.js'
import type { JwtClaims, VerifiedClaims } from '../../types/request-extra.js'

type Use = 'sign' | 'verify'
type Claims = Readonly<Partial<JwtClaims>>

/** A ring of keys with the engines made from it: swapped as a whole, so that a reload is all or nothing. */
interface Engines {
  readonly ring: KeyRing
  readonly signers: Map<SigningMethod, Sign>
  readonly verifiers: Map<SigningMethod, VerifySignature>
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
  readonly #memory: TokenMemoryOptions | null
  readonly #wanted = new Map<string, { method: SigningMethod; use: Use; wanted: string }>()
  #turn = 0
  #currentTurn = 0
  #engines: Engines | undefined
  #loading: Promise<this> | undefined

  readonly signingMethod: SigningMethod

  /**
   * @param config - keys, and the rules of tokens
   * @param options - `fs`: what reads the key files, any object with `readFile`; default: node:fs
   * @throws ERR_AUTH_OPTION, and ERR_AUTH_KEY for keys that stand in the configuration itself
   */
  constructor(config: JwtConfig, options: { fs?: KeyFileSystem } = {}) {
    // A copy: what becomes of the object later must not be read by a reload.
    this.#config = structuredClone(checkJwtConfig(config))
    this.#fs = checkFileSystem(options.fs ?? nodeFs)
    this.#rules = resolveRules(config)
    this.#expiry = config.expiry ?? 300
    const { rememberTokens: memory = {} } = config
    this.#memory =
      memory === false ? null : { max: memory.max ?? 1000, maxLength: memory.maxBytes ?? 4096 }
    this.signingMethod = config.signingMethod ?? 'HS256'
    if (keyFilePaths(config).length === 0) this.#engines = this.#prepare(new Map())
  }

  load(): Promise<this> {
    this.#loading ??= this.#engines ? Promise.resolve(this) : this.reload()
    // A failure is not for ever: the next call tries again.
    this.#loading.catch(() => {
      this.#loading = undefined
    })
    return this.#loading
  }

  async reload(): Promise<this> {
    this.#turn += 1
    const turn = this.#turn
    const engines = this.#prepare(await readKeyFiles(this.#config, this.#fs))
    for (const { method, use, wanted } of this.#wanted.values()) {
      keyFor(engines.ring, method, use, wanted)
    }
    // Of two at once the later one counts, also when it is the faster one.
    if (turn > this.#currentTurn) {
      this.#currentTurn = turn
      this.#engines = engines
    }
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

  require(method: SigningMethod, use: 'sign' | 'verify', wanted: string): void {
    keyFor(this.#current.ring, method, use, wanted)
    this.#wanted.set(`${method} ${use} ${wanted}`, { method, use, wanted })
  }

  canSign(signingMethod: SigningMethod = this.signingMethod): boolean {
    return this.#current.ring[algorithmOf(signingMethod).family]?.sign !== undefined
  }

  canVerify(signingMethod: SigningMethod = this.signingMethod): boolean {
    return this.#current.ring[algorithmOf(signingMethod).family] !== undefined
  }

  generateToken(id: string | number): string {
    if (!(typeof id === 'string' ? id !== '' : Number.isFinite(id))) {
      throw new AuthnUsageError(
        'ERR_AUTH_CLAIMS',
        `generateToken: found ${id === '' ? 'an empty string' : typeof id === 'number' ? id : typeof id} as the id, expected a non-empty string or a finite number.`,
      )
    }
    return this.generateTokenWithClaims({ sub: id })
  }

  generateTokenWithClaims(
    claims: Readonly<Partial<JwtClaims>>,
    signingMethod: SigningMethod = this.signingMethod,
  ): string {
    if (typeof claims !== 'object' || claims === null || Array.isArray(claims)) {
      throw new AuthnUsageError('ERR_AUTH_CLAIMS', 'claims: expected an object.')
    }
    if (isThenable(claims)) {
      throw new AuthnUsageError('ERR_AUTH_CLAIMS', 'claims: found a promise. Await it.')
    }
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
    return this.#sign(toSignable(payload), signingMethod)
  }

  verify<Claims extends object = JwtClaims>(
    token: string,
    signingMethod: SigningMethod = this.signingMethod,
    rules?: TokenRules,
  ): VerifiedClaims<Claims> {
    const own =
      rules === undefined ? this.#rules : resolveRules(checkTokenRules(rules), this.#rules)
    return this.#judge(String(token), signingMethod, own) as VerifiedClaims<Claims>
  }

  verifier(
    signingMethod: SigningMethod | undefined,
    rules: TokenRules,
    wanted: string,
  ): (token: string) => JwtClaims {
    const method = signingMethod === undefined ? this.signingMethod : signingMethod
    const resolved = resolveRules(checkTokenRules(rules), this.#rules)
    this.require(method, 'verify', wanted)
    return (token) => this.#judge(token, method, resolved)
  }

  /**
   * For the test kit, whose bad tokens are such as no service would sign.
   *
   * @internal
   */
  [kKeyOf](method: SigningMethod): LoadedKey | undefined {
    return this.#current.ring[algorithmOf(method).family]
  }

  #judge(token: string, method: SigningMethod, rules: ResolvedRules): JwtClaims {
    const { ring, verifiers } = this.#current
    let verify = verifiers.get(method)
    if (verify === undefined) {
      verify = createVerifySignature(keyFor(ring, method, 'verify', 'verify()'), method)
      if (this.#memory !== null) verify = rememberTokens(verify, this.#memory)
      verifiers.set(method, verify)
    }
    const claims = verify(token)
    checkClaims(claims, rules)
    return claims
  }

  #sign(payload: Claims, method: SigningMethod): string {
    const { ring, signers } = this.#current
    let sign = signers.get(method)
    if (sign === undefined) {
      sign = createSign(keyFor(ring, method, 'sign', 'generateTokenWithClaims()'), method)
      signers.set(method, sign)
    }
    try {
      return sign(payload)
    } catch (error) {
      throw new AuthnUsageError('ERR_AUTH_CLAIMS', 'claims: JSON cannot express them.', error)
    }
  }
}

function checkFileSystem(fs: KeyFileSystem): KeyFileSystem {
  if (typeof (fs as Partial<KeyFileSystem> | null)?.readFile === 'function') return fs
  throw new AuthnUsageError(
    'ERR_AUTH_OPTION',
    'JwtService: option "fs": expected an object with a function readFile, such as node:fs.',
  )
}
