// program: requests
// The times of tokens at each request. To the millisecond: test/tokens/claims.test.ts.
import t, { type Test } from 'tap'
import type { AuthnOptions } from '../../lib/index.js'
import { appWith, bearer, secret, userService } from '../helpers/app.js'
import {
  deferred,
  isRejection,
  isWelcome,
  messages,
  probe,
  serviceOf,
  tokenChallenge,
} from '../helpers/flows.js'

/** An app, a token of it that lives for a minute, and the wall clock in seconds since the token was made. */
async function setting(t: Test, options: Partial<AuthnOptions>) {
  const { handler, take } = probe()
  const start = Math.floor(Date.now() / 1000) * 1000
  let now = start
  t.intercept(Date, 'now', { value: () => now })
  const jwt = { secret, expiry: 60, ...options.jwt }
  const app = await appWith(t, { userService: userService(), ...options, jwt }, (app) => {
    app.get('/', { config: { auth: true } }, handler)
  })
  const headers = bearer(app.jwtService.generateToken('alice'))
  return {
    take,
    at: (seconds: number) => {
      now = start + seconds * 1000
      return app.inject({ url: '/', headers })
    },
  }
}

const expired = { error: messages.jwtExpired, challenge: tokenChallenge('The token expired') }

t.test('a token that expires while its user is looked up is accepted', async (t) => {
  const answer = deferred<object>()
  const asked = deferred()
  const service = serviceOf(() => {
    asked.resolve()
    return answer.promise
  })
  const { at, take } = await setting(t, { userService: service })
  const response = at(59)
  await asked.promise
  const late = at(3600)
  answer.resolve({ name: 'alice' })
  isWelcome(t, await response, 'alice')
  isRejection(t, await late, expired)
  t.equal(take(), 1)
})
