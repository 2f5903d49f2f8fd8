/**
 * The stores of API keys.
 * @module fastify-authn/api-keys
 */
export { memoryApiKeys } from './stores/memory.js'
export { redisApiKeys } from './stores/redis.js'
export { sqlApiKeys } from './stores/sql.js'
export type { SqlOptions, SqlParams, SqlQuery, SqlResult } from '../stores/sql.js'
export type * from '../../types/api-keys.js'
