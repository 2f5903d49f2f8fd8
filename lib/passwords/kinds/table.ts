import { argon2 } from './argon2.js'
import { bcrypt } from './bcrypt.js'
import type { HashAlgorithmKind } from './hash-kind.js'
import { scrypt } from './scrypt.js'

/** The kinds that new hashes can have, and that are verified in every app. */
export const kinds: readonly HashAlgorithmKind[] = [bcrypt, argon2, scrypt]
