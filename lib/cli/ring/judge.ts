import fs from 'node:fs'
import { algorithmOf } from '../../common/algorithms.js'
import { checkKeySetFile } from '../../tokens/keys/entries.js'
import { JwtService } from '../../tokens/service.js'
import { quoted } from '../text.js'
import { readRing } from './change.js'
import { thisMachine } from './files.js'
import type { Decoded } from '../decode.js'
import type { OpenedService } from '../environment.js'
import type { Environment } from '../../options/environment.js'
import type { JwtConfig, SigningMethod, TokenRules } from '../../../types/jwt.js'

type LoadedKey = Awaited<ReturnType<typeof checkKeySetFile>>[number]

/** What is shown of the key that judges a token. */
export interface JudgingKey {
  readonly kid: string
  readonly alg: SigningMethod
  readonly state: string
  readonly until: string | null
  readonly legacy: boolean
}

/** The key of a ring that judges a token, with a service that has this key alone; or why no key of it does. */
export type Chosen =
  | { readonly key: JudgingKey; readonly opened: OpenedService; readonly problem: null }
  | { readonly key: JudgingKey | null; readonly opened: null; readonly problem: string }

/**
 * Finds the key of a ring file that judges a token, as the server does it: by the `kid` alone.
 *
 * @param alg - the one algorithm that the authenticator accepts, if it has one of its own
 * @throws CliError when the ring cannot be read; for a bad ring, the error of the boot
 */
export async function chooseKey(
  ring: string,
  header: NonNullable<Decoded['header']>,
  alg: SigningMethod | undefined,
  env: Environment,
  rules: TokenRules,
): Promise<Chosen> {
  const { text } = await readRing(thisMachine, ring)
  const found = find(await checkKeySetFile(text, ring, fs), header)
  if (typeof found === 'string') return { key: null, opened: null, problem: found }
  const key = shown(found)
  const problem = problemOf(found, header, alg)
  if (problem !== null) return { key, opened: null, problem }
  const service = await new JwtService({ ...configOf(found), ...rules }).load()
  const source = `the ring ${quoted(ring)} with the kid ${quoted(found.kid)} (${found.state})`
  return { key, opened: { service, method: found.alg, source }, problem: null }
}

/** @returns the key, or why there is none */
function find(keys: readonly LoadedKey[], header: object): LoadedKey | string {
  const { kid, alg } = header as { kid?: unknown; alg?: unknown }
  if (!Object.hasOwn(header, 'kid')) {
    const legacy = keys.find((key) => key.legacy && key.alg === alg)
    return (
      legacy ??
      `it names no key ("kid"), and no key of the ring for ${quoted(alg) ?? 'none'} has legacy: true.`
    )
  }
  if (typeof kid !== 'string' || kid === '') return `its "kid" is ${quoted(kid)}, expected a text.`
  const known = `The ring has ${keys.map((key) => quoted(key.kid)).join(', ')}.`
  return keys.find((key) => key.kid === kid) ?? `no key of the ring has its "kid". ${known}`
}

function problemOf(
  { alg, until }: LoadedKey,
  header: object,
  accepted: SigningMethod | undefined,
): string | null {
  const { alg: told } = header as { alg?: unknown }
  if (told !== alg) return `its algorithm is ${quoted(told)}, but its key is for ${alg} only.`
  if (accepted !== undefined && alg !== accepted) {
    return `its algorithm is ${alg}, the server accepts ${accepted} only.`
  }
  if (until <= Date.now()) return `its key ended: ${new Date(until).toISOString()}.`
  return null
}

function shown({ kid = '', alg, state, until, legacy }: LoadedKey): JudgingKey {
  const end = until === Infinity ? null : new Date(until).toISOString()
  return { kid, alg, state, until: end, legacy }
}

/** The option `jwt` with one key, to verify with. */
function configOf({ alg, verify }: LoadedKey): JwtConfig {
  const { family } = algorithmOf(alg)
  const verifying = family === 'secret' ? { secret: verify } : { [family]: { public: verify } }
  return { ...(verifying as JwtConfig), signingMethod: alg }
}
