import { comparable } from '../common/typ.js'
import { wrongOption } from '../errors/errors.js'
import { check } from './check.js'
import { jwtSchema } from './jwt-schemas.js'
import { defaults, withDefaults } from './defaults.js'
import type { JwtConfig, VerifyRules } from '../../types/jwt.js'

export interface ResolvedRules {
  readonly clockTolerance: number
  readonly requireExp: boolean
  readonly issuer: string | undefined
  /** False: the claim is not checked; undefined: a token must not have it. */
  readonly audience: readonly string[] | false | undefined
  /** The accepted values in the form of `comparable()`; undefined accepts a token without one. */
  readonly typ: ReadonlySet<string | null | undefined>
}

export type ResolvedJwtConfig = ReturnType<typeof resolveJwtConfig>

/** Checks the option `jwt`, and adds the defaults; the entries of `keys` are checked later. @throws ERR_AUTH_OPTION */
export function resolveJwtConfig(config: unknown) {
  const checked = withDefaults({}, check<JwtConfig>(jwtSchema, config, 'jwt'))
  const { tokenCache, signingMethod, keys, reloadEvery, publish } = checked
  if (config !== noKeys) requireKeys(checked)
  return {
    ...withDefaults(defaults.jwt, checked),
    ...fillRules(checked, { ...defaults.tokenRules, typ: defaults.typ }),
    keys,
    // The method has no default beside `keys`.
    signingMethod: signingMethod ?? (keys === undefined ? defaults.jwt.signingMethod : undefined),
    tokenCache: tokenCache !== false && withDefaults(defaults.tokenCache, tokenCache),
    reloadEvery: reloadEvery ?? (typeof keys === 'string' ? defaults.keySet.reloadEvery : 0),
    publish: publish === true ? defaults.keySet.publish : publish || undefined,
  }
}

/** The option `jwt` of a registration that has neither `jwt` nor `jwtService`. */
export const noKeys: JwtConfig = {}

function requireKeys(config: JwtConfig): void {
  const families = ['secret', 'rsa', 'ecdsa', 'eddsa'] as const
  const given = families.filter((name) => config[name] !== undefined)
  if (config.keys !== undefined && given.length > 0) {
    wrongOption(
      `option "jwt.keys": found beside jwt.${given[0]}, expected one or the other. Make that key an entry of jwt.keys: { alg, ${given[0] === 'secret' ? 'secret, kid' : 'private'}, state: 'sign', legacy: true } goes on accepting its tokens.`,
    )
  }
  if (config.keys !== undefined) return
  const ofKeySet = ['reloadEvery', 'publish'] as const
  const alone = ofKeySet.find((name) => config[name] !== undefined && config[name] !== false)
  if (alone !== undefined) {
    wrongOption(`option "jwt.${alone}": it is for a key set. Set jwt.keys, or leave it out.`)
  }
  if (given.length > 0) return
  wrongOption(
    'option "jwt": no key is set. Set jwt.secret (is the environment variable that it comes from set?), jwt.rsa, jwt.ecdsa, jwt.eddsa or jwt.keys, or leave "jwt" out.',
  )
}

/** The rules of a verifier, which are checked already, and `base` for the rest. */
export function fillRules(own: VerifyRules, base: ResolvedRules): ResolvedRules {
  const { clockTolerance, requireExp, issuer, audience, typ } = own
  return {
    clockTolerance: clockTolerance ?? base.clockTolerance,
    requireExp: requireExp ?? base.requireExp,
    issuer: issuer ?? base.issuer,
    audience:
      typeof audience === 'object' || typeof audience === 'string'
        ? [audience].flat()
        : (audience ?? base.audience),
    typ: typ === undefined ? base.typ : new Set([typ].flat().map(comparable)),
  }
}
