import nodeFs from 'node:fs'
import { AuthnUsageError } from '../errors.js'
import { offerKeys, offerKinds } from '../common/kit.js'
import { checkTokenHeader, resolveJwtConfig, resolveRules } from '../options/resolve-jwt.js'
import { checkClaims, checkTyp, issued } from './claims.js'
import { KeySet, type KeyUse } from './key-set.js'
import { checkFileSystem, keyFilePaths, readKeyFiles } from './keys/files.js'
import { checkMadeUp } from './keys/made-up.js'
import { parseKeys } from './keys/parse.js'
import { kindOfKey } from './token-kind.js'
import type { ResolvedJwtConfig, ResolvedRules } from '../options/resolve-jwt.js'
import type { TokenCounts } from './remembered.js'
import type {
  JwtConfig,
  JwtServiceLike,
  JwtStats,
  KeyFileSystem,
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
  readonly #fs: KeyFileSystem
  readonly #counts: TokenCounts = { hits: 0, misses: 0 }
  readonly #wanted = new Map<string, { method: SigningMethod; use: KeyUse; wanted: string }>()
  #turn = 0
  #currentTurn = 0
  #keys: KeySet | undefined
  #loading: Promise<this> | undefined

  readonly signingMethod: SigningMethod
  readonly expiry: number

  /**
   * @param config - keys, and the rules of tokens
   * @param options - `fs`: reads the key files, any object with `readFile`; default: node:fs
   * @throws ERR_AUTH_OPTION; ERR_AUTH_KEY for a bad key that is given as text (key files are read later)
   */
  constructor(config: JwtConfig, options: { fs?: KeyFileSystem } = {}) {
    // A copy, so that a reload does not see later changes to the caller's object.
    this.#config = structuredClone(resolveJwtConfig(config))
    if (config.secret !== undefined) checkMadeUp(config.secret)
    this.#fs = checkFileSystem(options.fs ?? nodeFs)
    this.signingMethod = this.#config.signingMethod
    this.expiry = this.#config.expiry
    if (keyFilePaths(config).length === 0) this.#keys = this.#keySet(new Map())
  }

  load(): Promise<this> {
    this.#loading ??= this.#keys ? Promise.resolve(this) : this.reload()
    // A failure is not kept: the next call reads the files again.
    this.#loading.catch(() => {
      this.#loading = undefined
    })
    return this.#loading
  }

  async reload(): Promise<this> {
    this.#turn += 1
    const turn = this.#turn
    const keys = this.#keySet(await readKeyFiles(this.#config, this.#fs))
    for (const { method, use, wanted } of this.#wanted.values()) {
      keys.prepare(method, use, wanted)
    }
    // When two reloads run at the same time, the one that was started last wins, whichever ends first.
    if (turn > this.#currentTurn) {
      this.#currentTurn = turn
      this.#keys = keys
    }
    return this
  }

  #keySet(files: ReadonlyMap<string, string>): KeySet {
    return new KeySet(parseKeys(this.#config, files), this.#config.rememberTokens, this.#counts)
  }

  get #current(): KeySet {
    if (this.#keys !== undefined) return this.#keys
    throw new AuthnUsageError(
      'ERR_AUTH_KEY',
      'the key files of this JwtService are not read yet. Await its load() before it is used.',
    )
  }

  require(method: SigningMethod, use: 'sign' | 'verify', wanted: string): void {
    this.#current.prepare(method, use, wanted)
    this.#wanted.set(`${method} ${use} ${wanted}`, { method, use, wanted })
  }

  canSign(signingMethod: SigningMethod = this.signingMethod): boolean {
    return this.#current.key(signingMethod)?.sign !== undefined
  }

  canVerify(signingMethod: SigningMethod = this.signingMethod): boolean {
    return this.#current.key(signingMethod) !== undefined
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
    header: TokenHeaderOptions = {},
  ): string {
    const { typ } = checkTokenHeader(header)
    const payload = issued(claims, this.#config)
    const sign = this.#current.signer(signingMethod, 'generateTokenWithClaims()')
    try {
      return sign(payload, typ)
    } catch (error) {
      throw new AuthnUsageError('ERR_AUTH_CLAIMS', 'claims: JSON cannot express them.', error)
    }
  }

  verify<Claims extends object = JwtClaims>(
    token: string,
    signingMethod: SigningMethod = this.signingMethod,
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
    const method = signingMethod === undefined ? this.signingMethod : signingMethod
    const resolved = resolveRules(rules, this.#config)
    this.require(method, 'verify', wanted)
    return (token) => this.#judge(token, method, resolved)
  }

  stats(): JwtStats {
    const { size = 0, bytes = 0 } = this.#keys?.tokens ?? {}
    return { tokens: { size, bytes, ...this.#counts } }
  }

  static {
    // For the test kit, which needs the key to make tokens that a service would not sign.
    offerKeys((service, method) => (#keys in service ? service.#current.key(method) : undefined))
    // For the plugin, which finds registrations of an app that accept each other's tokens.
    offerKinds((service, method, rules) =>
      #keys in service
        ? kindOfKey(service.#current.key(method), method, resolveRules(rules, service.#config))
        : undefined,
    )
  }

  #judge(token: string, method: SigningMethod, rules: ResolvedRules): JwtClaims {
    const verified = this.#current.verifier(method, 'verify()')(token)
    checkTyp(verified, rules)
    checkClaims(verified.claims, rules)
    return verified.claims
  }
}
