import * as Type from '@sinclair/typebox/type'
import { wrongOption } from '../errors/errors.js'
import { flag, options, seconds, whole } from '../options/check.js'
import { defaults, withDefaults } from '../options/defaults.js'
import { registrationName, storeFactory } from '../stores/options.js'
import type { SessionsOptions } from '../../types/session-api.js'

/** 400 days: browsers keep no cookie for longer. The maximum also catches milliseconds. */
const longestSession = 34_560_000

const members = options({
  store: storeFactory(
    "a store of fastify-authn/sessions, such as redisSessions(redis, { prefix: 'shop' }) or sqlSessions({ query: (text, params) => pool.query(text, params), prefix: 'shop' })",
  ),
  lifetime: seconds(longestSession),
  idle: seconds(longestSession),
  grace: Type.Number({ minimum: 0, maximum: 60, description: 'seconds, 0 to 60' }),
  maxPerUser: whole(1, 10_000),
  name: registrationName,
  mfa: flag,
})

export const schema = Type.Union([Type.Boolean(), members], {
  description: `true, or ${members.description}`,
})

const base = { lifetime: 2_592_000, idle: 1_209_600, grace: 10, maxPerUser: 100, ...defaults.store }

export type ResolvedSessions = ReturnType<typeof resolve>

/** @throws ERR_AUTH_OPTION when `idle` is longer than `lifetime` */
export function resolve(given: SessionsOptions | true) {
  const resolved = withDefaults(base, given === true ? {} : given)
  const { lifetime } = resolved
  const idle = given === true ? undefined : given.idle
  if (idle !== undefined && idle > lifetime) {
    wrongOption(
      `option "sessions.idle": found ${idle} s, which is longer than "sessions.lifetime" (${lifetime} s) and has no effect. Lower "idle", or raise "lifetime".`,
    )
  }
  return { ...resolved, idle: Math.min(resolved.idle, lifetime) }
}
