import { randomBytes } from 'node:crypto'
import { algorithmOf, signingMethods } from '../../common/algorithms.js'
import { misuse, type Command } from '../command.js'
import { algOption, toMethod } from '../environment.js'
import type { SigningMethod } from '../../../types/jwt.js'

const methods = signingMethods.filter((method) => algorithmOf(method).family === 'secret')

/** Prints a random secret for HMAC. */
export const secret: Command = {
  summary: 'make a random secret, ready for an env file',
  options: {
    alg: algOption(`${methods.join(', ')}; default: enough for all of them`),
  },
  examples: ['npx fastify-authn secret >> .env', 'npx fastify-authn secret --alg HS256'],
  exits: ['done', 'it could not be done'],
  run(given) {
    const bits = bitsOf(given.text('alg') ?? 'HS512')
    // base64url: none of its characters is special in an env file. The boot counts the characters of the text, of
    // which there are more than random bytes, so the secret is long enough.
    const value = randomBytes(bits / 8).toString('base64url')
    return {
      lines: [`AUTH_JWT_SECRET=${value}`],
      json: { bits, env: { AUTH_JWT_SECRET: value } },
    }
  },
}

/** The least size of a secret in bits: that of the hash (RFC 7518 §3.2). */
function bitsOf(name: string): number {
  if (!methods.includes(name as SigningMethod) && signingMethods.includes(name as SigningMethod)) {
    misuse(`${name} takes a key pair, not a secret.`, `Try: npx fastify-authn keys ${name}`)
  }
  return algorithmOf(toMethod(name, methods)).minimumBits as number
}
