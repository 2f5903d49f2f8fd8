/**
 * The stores of sessions.
 * @module fastify-authn/sessions
 */
export { memorySessions, type MemorySessionsOptions } from './stores/memory.js'
export { redisSessions } from './stores/redis.js'
export { sqlSessions } from './stores/sql.js'
export type { SqlOptions, SqlParams, SqlQuery, SqlResult } from '../stores/sql.js'
export type * from '../../types/sessions.js'
