import { hkdfSync } from 'node:crypto'
import { promises } from 'node:fs'
import { AuthnUsageError } from '../errors/errors.js'
import { kit } from '../common/kit.js'
import { ownProperty } from '../common/objects.js'
import { typOf } from '../common/typ.js'
import {
  fillRules,
  resolveJwtConfig,
  type ResolvedJwtConfig,
  type ResolvedRules,
} from '../options/resolve-jwt.js'
import { check } from '../options/check.js'
import { tokenHeaderSchema, verifyRulesSchema } from '../options/jwt-schemas.js'
import { checkClaims, claimsToSign, invalidToken } from './claims.js'
import { fingerprintOf } from './keys/key.js'
import { KeyStore } from './keys/store.js'
import type {
  JwkSet,
  JwtConfig,
  JwtServiceLike,
  JwtStats,
  KeyFileSystem,
  KeyLog,
  SigningMethod,
  TokenHeaderOptions,
  VerifyRules,
} from '../../types/jwt.js'
import type { JwtClaims, VerifiedClaims } from '../../types/request-extra.js'

// The object has one member of node:fs, because the build would copy every member of the module.
const disk: KeyFileSystem = { readFile: (path: string) => promises.readFile(path) }

const warnings: KeyLog = {
  error: ({ err }, message) =>
    process.emitWarning(`${message}: ${String(err)}`, { code: 'AUTHN_KEYS' }),
}

/**
 * Issues and verifies tokens. Keys are read, checked and parsed once.
 * @example
 * const jwtService = new JwtService({ rsa: { private: 'keys/rsa.pem' } }, { fs })
 * await app.register(authn, { userService, jwtService })
 */
export class JwtService implements JwtServiceLike {
  readonly #config: ResolvedJwtConfig
  readonly #store: KeyStore

  readonly expiry: number
  readonly validAfterField: string | undefined
  readonly publish: string | undefined
  readonly issuer: string | undefined
  readonly audience: readonly string[] | undefined

  /**
   * @param config - keys, and the rules of tokens
   * @param options - `fs`: reads the key files, any object with `readFile`; default: node:fs. `log`: gets the errors of
   * keys that are reloaded; default: warnings of the process
   * @throws ERR_AUTH_OPTION; ERR_AUTH_KEY for a bad key that is given as text (`jwt.keys` and key files are read later)
   */
  constructor(config: JwtConfig, options: { fs?: KeyFileSystem; log?: KeyLog } = {}) {
    const { fs = disk, log = warnings } = options
    const resolved = resolveJwtConfig(config)
    this.#config = resolved
    this.expiry = resolved.expiry
    this.validAfterField = resolved.validAfterField
    this.publish = resolved.publish
    this.issuer = resolved.issuer
    this.audience = resolved.audience || undefined
    this.#store = new KeyStore(resolved, fs, log)
  }

  /** Whether a reload may change which keys sign. */
  get hasKeySet(): boolean {
    return this.#config.keys !== undefined
  }

  get signingMethod(): SigningMethod | undefined {
    return this.#config.signingMethod ?? this.#store.current.signingMethod
  }

  async load(): Promise<this> {
    await this.#store.load()
    return this
  }

  async reload(): Promise<this> {
    await this.#store.reload()
    return this
  }

  /** Stops the timer of `jwt.reloadEvery`. When an app closes, the plugin does it for the service that it has made. */
  close(): void {
    this.#store.close()
  }

  require(method: SigningMethod | undefined, use: 'sign' | 'verify', wanted: string): void {
    this.#store.require(method, use, wanted)
  }

  canSign(signingMethod?: SigningMethod): boolean {
    return this.#store.current.has(signingMethod, 'sign')
  }

  canVerify(signingMethod?: SigningMethod): boolean {
    return this.#store.current.has(signingMethod, 'verify')
  }

  jwks(): JwkSet {
    return { keys: this.#store.current.publish() }
  }

  fingerprints(signingMethod?: SigningMethod): string[] {
    return this.#store.current.keysFor(signingMethod).map(fingerprintOf)
  }

  generateToken(id: string | number): string {
    if (!(typeof id === 'string' ? id !== '' : Number.isFinite(id))) {
      const problem = 'generateToken: expected a non-empty string or a finite number as the id.'
      throw new AuthnUsageError('ERR_AUTH_CLAIMS', problem)
    }
    return this.generateTokenWithClaims({ sub: id })
  }

  generateTokenWithClaims(
    claims: Readonly<Partial<JwtClaims>>,
    signingMethod?: SigningMethod,
    header: TokenHeaderOptions = {},
  ): string {
    check(tokenHeaderSchema, header, 'generateTokenWithClaims')
    const payload = claimsToSign(claims, this.#config)
    const sign = this.#store.current.signer(signingMethod, 'generateTokenWithClaims()')
    try {
      return sign(payload, header.typ)
    } catch (error) {
      throw new AuthnUsageError(
        'ERR_AUTH_CLAIMS',
        'claims cannot be written as JSON (is there a BigInt, or a circular reference?).',
        error,
      )
    }
  }

  verify<Claims extends object = JwtClaims>(
    token: string,
    signingMethod?: SigningMethod,
    rules?: VerifyRules,
  ): VerifiedClaims<Claims> {
    const own = rules === undefined ? this.#config : this.rulesOf(rules)
    return this.#verifier(signingMethod, own)(String(token)) as VerifiedClaims<Claims>
  }

  verifier(
    signingMethod: SigningMethod | undefined,
    rules: VerifyRules,
    wanted: string,
  ): (token: string) => JwtClaims {
    this.require(signingMethod, 'verify', wanted)
    return this.#verifier(signingMethod, this.rulesOf(rules))
  }

  /** @internal */
  rulesOf(rules: VerifyRules): ResolvedRules {
    return fillRules(check<VerifyRules>(verifyRulesSchema, rules, 'rules'), this.#config)
  }

  /** Whether the header of a token, not verified, fits this method and these rules. @internal */
  isMeant(header: object, method: SigningMethod | undefined, typ: ResolvedRules['typ']): boolean {
    return typ.has(typOf(header)) && this.#store.current.accepts(ownProperty(header, 'alg'), method)
  }

  /** Secrets for a purpose, of the private keys and secrets; the first one is of the key that signs. @internal */
  secretsFor(purpose: string, method: SigningMethod | undefined): Buffer[] {
    const keys = this.#store.current.keysFor(method).filter(({ until }) => Date.now() < until)
    return keys.flatMap(({ sign }) =>
      sign === undefined ? [] : Buffer.from(hkdfSync('sha256', sign, '', purpose, 32)),
    )
  }

  stats(): JwtStats {
    return this.#store.stats
  }

  static {
    // The test kit needs the key to make tokens that a service would not sign.
    kit.keysOf = (service, method) =>
      #store in service ? service.#store.current.keysFor(method) : undefined
  }

  #verifier(method: SigningMethod | undefined, rules: ResolvedRules): (token: string) => JwtClaims {
    return (token) => {
      const { claims, typ } = this.#store.current.verify(token, method)
      // A token that resets a password must not authenticate a user (RFC 8725 §3.11).
      if (!rules.typ.has(typ)) throw invalidToken('typ')
      checkClaims(claims, rules)
      return claims
    }
  }
}
