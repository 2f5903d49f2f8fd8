/**
 * Names of what the plugin keeps on instances and requests. From the global registry, because an app
 * can load the ESM and the CommonJS build side by side, and both must find the same things.
 */
export const kRegistration: unique symbol = Symbol.for('fastify-authn.registration')
export const kScopeMark: unique symbol = Symbol.for('fastify-authn.scope-mark')
export const kTree: unique symbol = Symbol.for('fastify-authn.tree')
export const kMembers: unique symbol = Symbol.for('fastify-authn.members')
export const kCarried: unique symbol = Symbol.for('fastify-authn.carried')
export const kServer: unique symbol = Symbol.for('fastify-authn.server')
export const kLogin: unique symbol = Symbol.for('fastify-authn.login')
export const kBusy: unique symbol = Symbol.for('fastify-authn.busy')
export const kStandIn: unique symbol = Symbol.for('fastify-authn.stand-in')
export const kKeyOf: unique symbol = Symbol.for('fastify-authn.key-of')
export const kFault: unique symbol = Symbol.for('fastify-authn.fault')
