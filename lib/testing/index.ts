/**
 * Tools for the tests of an app.
 * @module fastify-authn/testing
 */
export { accountAttacks, type AccountAttackOptions } from './account-attacks.js'
export { actingAs, type ActingApiKey, type ActingInjection, type ActingOptions } from './acting.js'
export { factorAttacks } from './factor-attacks.js'
export { linkWith, logInWith } from './log-in-with.js'
export { totpCode } from './totp-code.js'
export { mintApiKey } from './api-keys.js'
export { authAttacks } from './attacks.js'
export { mintToken, type MintOptions } from './mint.js'
export { authnTesting } from './plugin.js'
export { virtualPasskey, type PasskeyResponse, type VirtualPasskey } from './virtual-passkey.js'
export type { ApiKeyApp, BrokenApiKey, MintApiKeyOptions } from './api-keys.js'
export type { AttackedApp, AttackOptions, FactorAttackOptions, TokenApp } from './attack-options.js'
export type { BrokenIdToken, LogInWithOptions, ProviderLogin } from './log-in-with.js'
export type { BrokenToken } from './broken.js'
export type { BrokenOpaqueToken } from './opaque.js'
export type { AttackProblem, AttackReport } from './report.js'
export { apiKeyStoreSuite } from './stores/api-keys.js'
export { sessionStoreSuite } from './stores/sessions.js'
export { userStoreSuite } from './stores/users.js'
export type { MakeStore, StoreCase } from './stores/suite.js'
