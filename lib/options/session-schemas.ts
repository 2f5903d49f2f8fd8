import * as Type from '@sinclair/typebox/type'
import { anyFunction, optional, seconds, strict, text } from './parts.js'

/** 400 days: browsers keep no cookie for longer. The maximum also catches milliseconds. */
const longest = 34_560_000

const store = Type.Object(
  {
    prefix: text({ description: 'a non-empty string', shown: true }),
    isLocal: Type.Boolean({ description: 'true or false' }),
    open: anyFunction('a function (name) that returns the store of a registration'),
  },
  { description: 'a store of fastify-authn/sessions, such as redisSessions(client)' },
)

const members = Type.Object(
  {
    store: optional(store),
    lifetime: seconds(longest),
    idle: seconds(longest),
    grace: optional(Type.Number({ minimum: 0, maximum: 60, description: 'seconds, 0 to 60' })),
    name: optional(
      text({
        description: 'letters, digits, ".", "_" and "-", 64 at most',
        pattern: '^[0-9A-Za-z._-]{1,64}$',
        shown: true,
      }),
    ),
  },
  { ...strict, description: 'true, or an object with store, lifetime, idle, grace, name' },
)

export const sessionsSchema = Type.Union([Type.Boolean(), members], {
  description: 'true, or an object with store, lifetime, idle, grace, name',
})
