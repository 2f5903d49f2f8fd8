// The entry point fastify-authn/api-keys: the stores of API keys.
export { memoryApiKeys } from './stores/memory.js'
export type * from '../../types/api-keys.js'
