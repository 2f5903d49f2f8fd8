// The secret for libraries on jsonwebtoken: a text, as their documentation shows it, or prepared once, which
// is much faster.
import { createSecretKey } from 'node:crypto'
import { settings } from './serve.mjs'

const { secret } = settings.key

export const secretOrKey = settings.keyObject ? createSecretKey(Buffer.from(secret)) : secret
