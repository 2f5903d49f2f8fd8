// The entry point fastify-authn/api-keys: the stores of API keys.
export { memoryApiKeys } from './stores/memory.js'
export { redisApiKeys } from './stores/redis.js'
export { sqlApiKeys } from './stores/sql.js'
export type { SqlOptions, SqlParams, SqlQuery, SqlResult } from '../stores/sql.js'
export type * from '../../types/api-keys.js'
