import { randomBytes } from 'node:crypto'
import { Option } from 'commander'
import { algorithmOf, signingMethods } from '../../common/algorithms.js'
import type { Command } from '../command.js'
import type { SigningMethod } from '../../../types/jwt.js'

const methods = signingMethods.filter((method) => algorithmOf(method).family === 'secret')

export const secret: Command<{ alg: SigningMethod }> = {
  name: 'secret',
  summary: 'make a random secret, ready for an env file',
  options: [
    new Option('--alg <method>', 'signing method')
      .choices(methods)
      .default('HS512', 'long enough for all of them'),
  ],
  examples: ['npx fastify-authn secret >> .env', 'npx fastify-authn secret --alg HS256'],
  exits: ['done', 'it could not be done'],
  run({ alg }) {
    const bits = algorithmOf(alg).minimumBits as number
    // base64url: none of its characters is special in an env file.
    const value = randomBytes(bits / 8).toString('base64url')
    return { lines: [`AUTH_JWT_SECRET=${value}`], json: { bits, env: { AUTH_JWT_SECRET: value } } }
  },
}
