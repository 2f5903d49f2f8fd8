import type { FastifyInstance } from 'fastify'
import t, { type Test } from 'tap'
import { JwtService, type AuthnOptions } from '../../lib/index.js'
import { appWith, bearer, secret, userService } from '../helpers/app.js'
import {
  deferred,
  isRejection,
  isWelcome,
  listen,
  probe,
  send,
  messages,
  tokenChallenge,
  type AnyResponse,
  type Probe,
} from '../helpers/flows.js'
import { tally } from '../helpers/load.js'
import { memoryFs } from '../helpers/memory-fs.js'
import { keys, privatePem } from '../helpers/tokens.js'
import { moreKeys } from '../helpers/keys.js'

interface Setting extends Probe {
  readonly app: FastifyInstance
  readonly get: (token: string) => Promise<AnyResponse>
}

async function setting(t: Test, options: AuthnOptions): Promise<Setting> {
  const handled = probe()
  const app = await appWith(
    t,
    { userService: userService(), ...options },
    (app) => void app.get('/', { config: { auth: { use: 'jwt' } } }, handled.handler),
  )
  return { ...handled, app, get: (token) => app.inject({ url: '/', headers: bearer(token) }) }
}

/** The clock of the wall, in seconds from when the test began. */
function wallClock(t: Test): { set(seconds: number): void } {
  // Not the middle of a second, so that the second of `exp` is met exactly.
  const start = Math.floor(Date.now() / 1000) * 1000
  let now = start
  t.intercept(Date, 'now', { value: () => now })
  return {
    set: (seconds) => {
      now = start + seconds * 1000
    },
  }
}

const expired = { error: messages.jwtExpired, challenge: tokenChallenge('The token expired') }
const early = { error: messages.jwtEarly, challenge: tokenChallenge('The token is not valid yet') }
const invalid = { error: messages.jwtInvalid, challenge: tokenChallenge('The token is invalid') }

t.test('a cached token is rejected from the second of its exp', async (t) => {
  const clock = wallClock(t)
  const { app, get, take } = await setting(t, { jwt: { secret, expiry: 60 } })
  const token = app.jwtService.generateToken('alice')
  for (const [seconds, passes] of [
    [0, true],
    [59, true],
    [59.999, true],
    [60, false],
    [61, false],
    [59, true],
    [86_400, false],
  ] as const) {
    clock.set(seconds)
    const response = await get(token)
    if (passes) isWelcome(t, response, 'alice', `after ${seconds} s`)
    else isRejection(t, response, expired, `after ${seconds} s`)
    t.equal(take(), passes ? 1 : 0)
  }
})

t.test('a token is rejected while the clock is set back before its nbf', async (t) => {
  const clock = wallClock(t)
  const { app, get, take } = await setting(t, { jwt: { secret } })
  const token = app.jwtService.generateToken('alice')
  isWelcome(t, await get(token), 'alice')
  for (const seconds of [-1, -3600, -86_400 * 365]) {
    clock.set(seconds)
    isRejection(t, await get(token), early, `${seconds} s`)
  }
  t.equal(take(), 1)
  clock.set(1)
  isWelcome(t, await get(token), 'alice')
})

t.test('clockTolerance moves exp and nbf by exactly its seconds', async (t) => {
  const clock = wallClock(t)
  const { app, get } = await setting(t, { jwt: { secret, expiry: 60, clockTolerance: 10 } })
  const token = app.jwtService.generateToken('alice')
  for (const [seconds, status] of [
    [69, 200],
    [70, 401],
    [-10, 200],
    [-11, 401],
    [69, 200],
  ] as const) {
    clock.set(seconds)
    t.equal((await get(token)).statusCode, status, `${seconds} s`)
  }
})

t.test('a token that expires while its user is looked up is accepted', async (t) => {
  const clock = wallClock(t)
  const answer = deferred<object>()
  const asked = deferred()
  const { app, get, take } = await setting(t, {
    jwt: { secret, expiry: 60 },
    userService: {
      findByUsername: () => {
        asked.resolve()
        return answer.promise
      },
    },
  })
  const token = app.jwtService.generateToken('alice')
  clock.set(59)
  const response = get(token)
  await asked.promise
  clock.set(3600)
  answer.resolve({ name: 'alice' })
  isWelcome(t, await response, 'alice')
  t.equal(take(), 1)
  isRejection(t, await get(token), expired)
})

const rsa = { private: privatePem(keys.rsa.privateKey) }
const otherRsa = { private: privatePem(moreKeys.otherRsa.privateKey) }

/** An app whose key is in a file that can be replaced. */
async function withKeyFile(
  t: Test,
): Promise<Setting & { service: JwtService; fs: ReturnType<typeof memoryFs> }> {
  const fs = memoryFs({ 'rsa.pem': rsa.private })
  const service = new JwtService(
    { signingMethod: 'RS256', rsa: { private: 'rsa.pem' } },
    { fs: { readFile: async (path: string) => fs.readFile(path.replace(/^.*\//, '')) } },
  )
  return { ...(await setting(t, { jwtService: service })), service, fs }
}

t.test('during reload(), requests are accepted by the old keys or the new ones', async (t) => {
  const { app, service, fs } = await withKeyFile(t)
  const port = await listen(app)
  const old = service.generateToken('alice')
  const ask = (token: string): Promise<AnyResponse> =>
    send(port, { path: '/', headers: bearer(token) })
  const before = Array.from({ length: 20 }, () => ask(old))
  fs.files.set('rsa.pem', otherRsa.private)
  const reloading = service.reload()
  const during = Array.from({ length: 20 }, () => ask(old))
  t.equal(await reloading, service)
  const fresh = service.generateToken('alice')
  const after = Array.from({ length: 20 }, () => ask(fresh))
  const counts = tally(await Promise.all([...before, ...during]))
  t.equal((counts[200] ?? 0) + (counts[401] ?? 0), 40, 'no fault')
  t.strictSame(tally(await Promise.all(after)), { 200: 20 })
  isRejection(t, await ask(old), invalid, 'the old key is gone')
  t.not(fresh.split('.')[2], old.split('.')[2])
})
