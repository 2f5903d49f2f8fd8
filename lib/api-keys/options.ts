import { wrongOption } from '../errors/errors.js'
import { httpToken } from '../options/authenticator-schemas.js'
import {
  anyFunction,
  optional,
  options,
  or,
  seconds,
  strict,
  text,
  whole,
} from '../options/check.js'
import { defaults, withDefaults } from '../options/defaults.js'
import { registrationName, storeFactory } from '../stores/options.js'
import type { ApiKeysOptions } from '../../types/api-keys.js'

export const apiKeyPrefix = '^(?=.{2,20}$)[a-z][a-z0-9]*(?:_[a-z0-9]+)*$'

export const schema = strict(
  {
    prefix: text(
      "2 to 20 characters: words of a-z and 0-9 joined by _, a letter first, such as 'acme_live'",
      { pattern: apiKeyPrefix, quoted: true },
    ),
    store: storeFactory(
      "memoryApiKeys(), redisApiKeys(redis, { prefix: 'shop' }) or sqlApiKeys({ query: (text, params) => pool.query(text, params), prefix: 'shop' }) of fastify-authn/api-keys, or a store of the app",
    ),
    header: optional(text('a header name (RFC 9110 §5.6.2)', { pattern: httpToken, quoted: true })),
    cache: optional(or(false, options({ max: whole(1, 1_000_000), ttl: seconds(60) }))),
    maxPerOwner: optional(whole(1, 10_000)),
    user: optional(anyFunction('a function (owner, request) that returns a user or null')),
    name: optional(registrationName),
  },
  'an object with prefix, store, header, cache, maxPerOwner, user, name',
)

export type ResolvedApiKeys = ReturnType<typeof resolve>

/** @throws ERR_AUTH_OPTION for a header that has other credentials */
export function resolve({ header: given, cache, ...others }: ApiKeysOptions) {
  // Node has the names of headers in lower case.
  const header = given?.toLowerCase()
  if (header !== undefined && /^((proxy-)?authorization|cookie)$/.test(header)) {
    wrongOption(
      `option "apiKeys.header": found ${JSON.stringify(given)}, expected a header of its own, such as 'x-api-key'. Authorization: Bearer is always read.`,
    )
  }
  return {
    ...withDefaults({ maxPerOwner: 100, ...defaults.store }, others),
    header,
    cache: cache !== false && withDefaults({ max: 10_000, ttl: 1 }, cache),
  }
}
