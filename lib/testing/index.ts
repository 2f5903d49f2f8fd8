/**
 * Tools for the tests of an app.
 * @module fastify-authn/testing
 */
export { accountAttacks } from './account-attacks.js'
export { actingAs } from './acting.js'
export { linkWith, logInWith } from './log-in-with.js'
export { totpCode } from './totp-code.js'
export { mintApiKey } from './api-keys.js'
export { authAttacks } from './attacks.js'
export { mintToken } from './mint.js'
export { authnTesting } from './plugin.js'
export { virtualPasskey } from './virtual-passkey.js'
export type { AccountAttackOptions } from './account-attacks.js'
export type { ActingApiKey, ActingInjection, ActingOptions } from './acting.js'
export type { ApiKeyApp, BrokenApiKey, MintApiKeyOptions } from './api-keys.js'
export type { AttackedApp, AttackOptions } from './attack-options.js'
export type { BrokenIdToken, LogInWithOptions, ProviderLogin } from './log-in-with.js'
export type { BrokenToken } from './broken.js'
export type { BrokenOpaqueToken } from './opaque.js'
export type { TokenApp } from './token-app.js'
export type { MintOptions } from './mint.js'
export type { AttackProblem, AttackReport } from './report.js'
export type {
  CreationOptions,
  PasskeyResponse,
  RequestOptions,
  VirtualPasskey,
} from './virtual-passkey.js'
export { apiKeyStoreSuite } from './stores/api-keys.js'
export { sessionStoreSuite } from './stores/sessions.js'
export type { MakeStore, StoreCase } from './stores/bench.js'
