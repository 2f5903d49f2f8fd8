import { randomBytes } from 'node:crypto'
import { algorithmOf, signingMethods } from '../../jwt/algorithms.js'
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
    // base64url: no letter of it means anything in an env file, and there are more bytes of text than of
    // randomness, so that the check at boot is content.
    const value = randomBytes(bits / 8).toString('base64url')
    return {
      lines: [`AUTH_JWT_SECRET=${value}`],
      json: { bits, env: { AUTH_JWT_SECRET: value } },
    }
  },
}

/** RFC 7518 §3.2: as many as the hash has. */
function bitsOf(name: string): number {
  if (!methods.includes(name as SigningMethod) && signingMethods.includes(name as SigningMethod)) {
    misuse(`${name} takes a key pair, not a secret.`, `Try: npx fastify-authn keys ${name}`)
  }
  return algorithmOf(toMethod(name, methods)).minimumBits as number
}
