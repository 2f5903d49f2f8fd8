import { channelOf } from './events.js'
import { rejections as ofAccounts } from './accounts/rejections.js'
import { rejections as ofApiKeys } from './api-keys/rejections.js'
import { rejections as ofCookies } from './cookies/rejections.js'
import { ownProperty } from './common/objects.js'
import { addRejections, busy, type RejectionTable } from './errors/rejections.js'
import { check } from './options/check.js'
import { rejections as ofMailLogin } from './mail-login/rejections.js'
import { rejections as ofLoginWith } from './login-with/rejections.js'
import { rejections as ofPasskeys } from './passkeys/rejections.js'
import { rejections as ofSecondFactor } from './second-factor/rejections.js'
import { rejections as ofSessions } from './sessions/rejections.js'
import { rejections as ofUsers } from './users-table/rejections.js'
import type { Feature, FeatureContext, FeatureModule, ResolvedFeatures } from './feature.js'
import type { AuthnEvents } from '../types/events.js'

export type * from '../types/accounts.js'
export type * from '../types/api-keys.js'
export type * from '../types/cookies.js'
export type * from '../types/introspection.js'
export type * from '../types/issuers.js'
export type * from '../types/login-with.js'
export type * from '../types/mail-login.js'
export type * from '../types/passkeys.js'
export type * from '../types/resource.js'
export type * from '../types/second-factor.js'
export type * from '../types/session-api.js'
export type * from '../types/sessions.js'
export type * from '../types/users.js'

interface FeatureRow {
  /** Default: whether its option is set. A row whose name has a dot needs it: see {@link features}. */
  isOn?(context: Omit<FeatureContext, 'resolved'>): boolean
  load(): Promise<FeatureModule>
  /** Its codes and messages in English. An app may throw errors with them although the feature is off. */
  readonly rejections?: RejectionTable
  /** The names of its events, whose channels exist although the feature is off. */
  readonly events?: readonly (keyof AuthnEvents)[]
  /** Whether it has an `api`. Where it is off, that member of `app.authn` throws and names the option, or is null. */
  readonly hasApi?: boolean | 'or null'
  /** The member of `app.authn.stats()` where the feature is off. Default: none, so that its type is optional. */
  readonly noStats?: object
}

/**
 * All features by the option that switches them on, in the order in which they are made. Only this file names them.
 *
 * A row has the name of the feature and of its option, which the core then accepts. With a dot, as in `jwt.publish`,
 * it is a member of an option of the core: the core checks it, so that the feature has no schema.
 * @internal
 */
export const features: Record<string, FeatureRow> = {
  'jwt.validAfterField': {
    isOn: ({ jwtService }) => jwtService.validAfterField !== undefined,
    load: () => import('./valid-after/feature.js'),
  },
  'jwt.publish': {
    isOn: ({ jwtService }) => jwtService.publish !== undefined,
    load: () => import('./jwks/feature.js'),
  },
  resource: { load: () => import('./resource/feature.js'), hasApi: 'or null' },
  issuers: {
    load: () => import('./issuers/feature.js'),
    rejections: { codes: { ERR_AUTH_ISSUER_UNAVAILABLE: busy } },
    events: ['issuer', 'introspection'],
    noStats: {},
  },
  cookies: { load: () => import('./cookies/feature.js'), rejections: ofCookies },
  sessions: {
    isOn: ({ options: { sessions } }) => sessions !== undefined && sessions !== false,
    load: () => import('./sessions/feature.js'),
    rejections: ofSessions,
    events: ['reuse', 'logout', 'revoked'],
    hasApi: true,
  },
  users: {
    load: () => import('./users-table/feature.js'),
    rejections: ofUsers,
    events: ['user'],
    hasApi: true,
  },
  loginWith: {
    load: () => import('./login-with/feature.js'),
    rejections: ofLoginWith,
    events: ['provider', 'link'],
    hasApi: true,
  },
  accounts: {
    load: () => import('./accounts/feature.js'),
    rejections: ofAccounts,
    events: ['account'],
    hasApi: true,
  },
  mailLogin: { load: () => import('./mail-login/feature.js'), rejections: ofMailLogin },
  secondFactor: {
    load: () => import('./second-factor/feature.js'),
    rejections: ofSecondFactor,
    events: ['secondFactor'],
    hasApi: true,
  },
  passkeys: {
    load: () => import('./passkeys/feature.js'),
    rejections: ofPasskeys,
    events: ['passkey'],
    hasApi: true,
  },
  apiKeys: {
    load: () => import('./api-keys/feature.js'),
    rejections: ofApiKeys,
    events: ['apiKey'],
    hasApi: true,
  },
}

for (const { rejections, events = [] } of Object.values(features)) {
  if (rejections) addRejections(rejections)
  for (const name of events) channelOf(name)
}

/** The options of the plugin that belong to features. @internal */
export const featureOptions = (): string[] =>
  Object.keys(features).filter((name) => !name.includes('.'))

type GivenOptions = Parameters<NonNullable<FeatureModule['supply']>>[0]

/** Adds what features supply to the options of an app. @throws ERR_AUTH_OPTION @internal */
export async function suppliedOptions(given: GivenOptions): Promise<GivenOptions> {
  let all = given
  for (const [option, { load }] of Object.entries(features)) {
    const own: unknown = ownProperty(Object(given) as object, option)
    if (own === undefined) continue
    const { schema, supply } = await load()
    if (supply === undefined) continue
    if (schema !== undefined) check(schema, own, option)
    all = supply(all)
  }
  return all
}

/** Makes the features that are on. @throws (rejects) ERR_AUTH_OPTION @internal */
export async function loadFeatures(
  context: Omit<FeatureContext, 'resolved' | 'resolvedBefore' | 'tokenChecks'>,
): Promise<readonly Feature[]> {
  const made: Feature[] = []
  const resolvedBefore: Partial<ResolvedFeatures> = {}
  for (const [option, { isOn, load }] of Object.entries(features)) {
    const tokenChecks = made.flatMap((feature) => feature.tokenChecks ?? [])
    const given: unknown = (context.options as Readonly<Record<string, unknown>>)[option]
    const all = { ...context, resolvedBefore, tokenChecks }
    if (!(isOn?.(all) ?? given !== undefined)) continue
    const { schema, resolve, create } = await load()
    if (schema !== undefined) check(schema, given, option)
    const resolved = resolve === undefined ? given : await resolve(given as never)
    made.push(create({ ...all, resolved: resolved as never }))
    Object.assign(resolvedBefore, { [option]: resolved })
  }
  return made
}
