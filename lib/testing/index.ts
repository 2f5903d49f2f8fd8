export { actingAs } from './acting.js'
export { authnTesting } from './plugin.js'
export type { ActingInjection, ActingOptions } from './acting.js'
