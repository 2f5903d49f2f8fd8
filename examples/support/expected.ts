// What tests of the examples expect.
import { randomBytes } from 'node:crypto'

export { basic, bearer, expectAnswer, login } from './requests.js'

// The examples have no secret to fall back on.
process.env.AUTH_JWT_SECRET = randomBytes(64).toString('base64url')
process.env.AUTH_BASIC_PASSWORD = 'open sesame'

export const alice = { name: 'alice', password: 'wonderland-1865' }
export const bob = { name: 'bob', password: 'builder-1999' }

/** Bodies of rejections. */
export const noCredentials = { error: 'Invalid or missing authentication header.' }
export const wrongCredentials = { error: 'Invalid credentials.' }
export const wrongToken = { error: 'Your authentication token is invalid.' }
export const notAccepted = { error: 'This route does not accept these credentials.' }

const realm = 'realm="Authorization required"'
export const bearerChallenge = `Bearer ${realm}`
export const basicChallenge = `Basic ${realm}, charset="UTF-8"`

/** The challenge to a client that sent a token. */
export const tokenChallenge = (description: string): string =>
  `${bearerChallenge}, error="invalid_token", error_description="${description}"`

/** Headers of a 401; a challenge that is undefined must not be there. */
export const rejection = (
  challenge: string | string[] | undefined = bearerChallenge,
): Record<string, unknown> => ({
  'www-authenticate': challenge,
  'cache-control': 'no-store',
  'content-language': 'en',
  vary: 'Accept-Language',
})

/** Headers of an answer that is no rejection. */
export const welcome = { 'www-authenticate': undefined, 'content-language': undefined }
