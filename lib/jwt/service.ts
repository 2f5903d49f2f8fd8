import nodeFs from 'node:fs'
import { AuthnUsageError } from '../errors.js'
import { kit } from '../common/kit.js'
import { checkTokenHeader, resolveJwtConfig, resolveRules } from '../options/resolve-jwt.js'
import { checkClaims, checkTyp, issued } from './claims.js'
import { copyOf, openKeys, processLog } from './open-keys.js'
import { checkFileSystem } from './keys/files.js'
import { checkMadeUp } from './keys/made-up.js'
import { kindsOfKeys } from './token-kind.js'
import type { ResolvedJwtConfig, ResolvedRules } from '../options/resolve-jwt.js'
import type { KeyHolder } from './key-holder.js'
import type { TokenCounts } from './remembered.js'
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

/**
 * Issues and verifies tokens. Keys are read, checked and parsed once.
 *
 * @example
 * const jwtService = new JwtService({ rsa: { private: 'keys/rsa.pem' } }, { fs })
 * await app.register(authn, { userService, jwtService })
 */
export class JwtService implements JwtServiceLike {
  readonly #config: ResolvedJwtConfig
  readonly #log: KeyLog
  readonly #counts: TokenCounts = { hits: 0, misses: 0 }
  readonly #holder: KeyHolder
  #stopReloading: (() => void) | undefined
  #isClosed = false

  readonly expiry: number
  readonly validAfterField: string | undefined

  /**
   * @param config - keys, and the rules of tokens
   * @param options - `fs`: reads the key files, any object with `readFile`; default: node:fs. `log`: is told of keys that
   * are bad while nobody waits for them; default: warnings of the process
   * @throws ERR_AUTH_OPTION; ERR_AUTH_KEY for a bad key that is given as text (a ring and key files are read later)
   */
  constructor(config: JwtConfig, options: { fs?: KeyFileSystem; log?: KeyLog } = {}) {
    this.#config = copyOf(resolveJwtConfig(config))
    if (config.secret !== undefined) checkMadeUp(config.secret)
    this.expiry = this.#config.expiry
    this.validAfterField = this.#config.validAfterField
    this.#log = options.log ?? processLog
    const fs = checkFileSystem(options.fs ?? nodeFs)
    this.#holder = openKeys(this.#config, fs, this.#counts, this.#log)
  }

  get signingMethod(): SigningMethod | undefined {
    return this.#config.signingMethod ?? this.#holder.current.signingMethod
  }

  get publish(): string | undefined {
    return this.#config.publish
  }

  async load(): Promise<this> {
    await this.#holder.load()
    const { keys, reloadEvery: seconds } = this.#config
    if (keys === undefined || seconds === 0) return this
    const { reloadEvery } = await import('./ring/watch.js')
    if (this.#isClosed) return this
    this.#stopReloading ??= reloadEvery(seconds, () => this.reload(), this.#log)
    return this
  }

  async reload(): Promise<this> {
    await this.#holder.reload()
    return this
  }

  /** Ends the timer of `jwt.reloadEvery`. The plugin does it for the service that it made, when the app closes. */
  close(): void {
    this.#isClosed = true
    this.#stopReloading?.()
  }

  require(method: SigningMethod | undefined, use: 'sign' | 'verify', wanted: string): void {
    this.#holder.require(method, use, wanted)
  }

  canSign(signingMethod?: SigningMethod): boolean {
    return this.#holder.current.has(signingMethod, 'sign')
  }

  canVerify(signingMethod?: SigningMethod): boolean {
    return this.#holder.current.has(signingMethod, 'verify')
  }

  jwks(): JwkSet {
    return { keys: this.#holder.current.published?.() ?? [] }
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
    signingMethod?: SigningMethod,
    header: TokenHeaderOptions = {},
  ): string {
    const { typ } = checkTokenHeader(header)
    const payload = issued(claims, this.#config)
    const sign = this.#holder.current.signer(signingMethod, 'generateTokenWithClaims()')
    try {
      return sign(payload, typ)
    } catch (error) {
      throw new AuthnUsageError('ERR_AUTH_CLAIMS', 'claims: JSON cannot express them.', error)
    }
  }

  verify<Claims extends object = JwtClaims>(
    token: string,
    signingMethod?: SigningMethod,
    rules?: VerifyRules,
  ): VerifiedClaims<Claims> {
    const own = rules === undefined ? this.#config : resolveRules(rules, this.#config)
    return this.#judge(String(token), signingMethod, own) as VerifiedClaims<Claims>
  }

  verifier(
    signingMethod: SigningMethod | undefined,
    rules: VerifyRules,
    wanted: string,
  ): (token: string) => JwtClaims {
    const resolved = resolveRules(rules, this.#config)
    this.require(signingMethod, 'verify', wanted)
    return (token) => this.#judge(token, signingMethod, resolved)
  }

  stats(): JwtStats {
    return {
      keys: this.#holder.stats,
      tokens: { ...this.#holder.tokens, ...this.#counts },
    }
  }

  static {
    // For the test kit, which needs the key to make tokens that a service would not sign.
    kit.keysOf = (service, method) =>
      #holder in service ? service.#holder.current.keysOf(method) : undefined
    // For the plugin, which finds registrations of an app that accept each other's tokens.
    kit.kindsOf = (service, method, rules) => {
      if (!(#holder in service)) return undefined
      const resolved = resolveRules(rules, service.#config)
      return kindsOfKeys(service.#holder.current.keysOf(method), resolved)
    }
  }

  #judge(token: string, method: SigningMethod | undefined, rules: ResolvedRules): JwtClaims {
    const verified = this.#holder.current.verifier(method, 'verify()')(token)
    checkTyp(verified, rules)
    checkClaims(verified.claims, rules)
    return verified.claims
  }
}
