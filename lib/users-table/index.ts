/**
 * The stores of users.
 * @module fastify-authn/users
 */
export { memoryUsers } from './stores/memory.js'
export { sqlUsers } from './stores/sql.js'
export type { SqlOptions, SqlParams, SqlQuery, SqlResult } from '../stores/sql.js'
export type * from '../../types/users.js'
