import t from 'tap'
import { JwtService, type AuthnOptions } from '../../lib/index.js'
import { appWith, bearer, logLines, passwords, secret, users } from '../helpers/app.js'
import { isFault, type AnyResponse } from '../helpers/flows.js'
import { claimsOf, clientOf, heldStore, pairOf, sessionApp } from '../helpers/sessions.js'
import type { Test } from 'tap'

/** Users of whom the field is what a test says; a user without a value has no such field. */
function changing(): { since: unknown; options: AuthnOptions } {
  const state = {
    since: null as unknown,
    options: {
      jwt: { secret, validAfterField: 'tokensValidAfter' },
      userService: {
        findByUsername: (name: unknown) => {
          const user = users.find((each) => each.name === name)
          if (user === undefined) return null
          return state.since === undefined ? user : { ...user, tokensValidAfter: state.since }
        },
      },
    },
  }
  return state
}

/** The clock of this process, in seconds. */
function holdClock(t: Test, start: number): { now: number } {
  const clock = { now: start }
  t.intercept(Date, 'now', { value: () => clock.now * 1000 })
  return clock
}

const start = 1_800_000_000
const alice = { username: 'alice', password: passwords.alice }

t.test('tokens issued before the field get a 401, a login in its second works', async (t) => {
  const clock = holdClock(t, start + 0.2)
  const state = changing()
  const app = await appWith(t, state.options, (app) => {
    app.get('/me', { config: { auth: true } }, () => 'me')
  })
  const { post, me } = clientOf(app)
  const login = async (): Promise<string> =>
    (JSON.parse((await post('/login', alice)).body) as { token: string }).token
  const old = await login()
  t.strictSame(Object.keys(claimsOf(old)).toSorted(), ['exp', 'iat', 'nbf', 'sub'])
  t.equal(await me(old), 200, 'null: all tokens are valid')
  for (const [title, since] of [
    ['a Date', new Date((start + 0.5) * 1000)],
    ['seconds', start + 0.5],
  ] as const) {
    clock.now = start + 0.7
    state.since = since
    t.equal(await me(old), 401, title)
    const next = await login()
    t.equal(claimsOf(next).iat, start + 1, 'rounded up')
    t.equal(await me(next), 200)
  }
  const own = app.jwtService
  clock.now = start + 2
  t.equal(await me(own.generateToken('alice')), 200, 'tokens of the service have an iat too')
  const dateless = new JwtService({ secret }).generateToken('alice')
  t.notOk('iat' in claimsOf(dateless))
  t.equal(await me(dateless), 401, 'a token without iat is rejected')
  state.since = null
  t.equal(await me(dateless), 200)
})

t.test('in the mode try, the handler does not see the claims of a rejected token', async (t) => {
  const clock = holdClock(t, start)
  const state = changing()
  const app = await appWith(t, state.options, (app) => {
    app.get('/', { config: { auth: 'try' } }, ({ user, extra }) => ({
      user,
      claims: extra.jwtClaims,
    }))
  })
  const token = app.jwtService.generateToken('alice')
  const get = async (sent = token) =>
    (await app.inject({ url: '/', headers: bearer(sent) })).json() as object
  t.match(await get(), { user: { name: 'alice' }, claims: { sub: 'alice' } })
  clock.now += 2
  state.since = start + 1
  t.strictSame(await get(), { user: null })
  t.match(await get(app.jwtService.generateToken('gone')), { user: null, claims: { sub: 'gone' } })
})

t.test('an invalid tokensValidAfter is a 500, and a missing one is logged once', async (t) => {
  const state = changing()
  const { lines, stream } = logLines()
  const app = await appWith(
    t,
    state.options,
    (app) => void app.get('/me', { config: { auth: true } }, () => 'me'),
    { logger: { stream } },
  )
  const token = app.jwtService.generateToken('alice')
  const get = async (): Promise<AnyResponse> => app.inject({ url: '/me', headers: bearer(token) })
  for (const value of ['2027-01-01', Number.NaN, new Date('x'), -1, Date.now(), 5n, {}, true]) {
    state.since = value
    isFault(t, await get())
  }
  state.since = undefined
  const before = lines.length
  t.equal((await get()).statusCode, 200)
  t.equal((await get()).statusCode, 200)
  const told = lines.slice(before).filter(({ level }) => level === 40)
  t.equal(told.length, 1)
  t.match(told[0]?.msg, /lacks the field "tokensValidAfter"/)
})

t.test('a session that began before the field is revoked at its next refresh', async (t) => {
  const clock = holdClock(t, start + 0.2)
  const state = changing()
  const app = await sessionApp(t, { ...state.options, sessions: { store: heldStore().factory } })
  const { login, refresh, me } = clientOf(app)
  const first = await login()
  clock.now = start + 0.7
  state.since = start + 0.5
  const second = await login()
  t.equal(await me(second.token), 200)
  t.equal((await refresh(first.refreshToken)).statusCode, 401)
  const next = pairOf(await refresh(second.refreshToken))
  t.equal(claimsOf(next.token).iat, start + 1)
  t.equal(await me(next.token), 200)
  clock.now = start + 0.9
  state.since = start + 0.8
  t.equal((await refresh(next.refreshToken)).statusCode, 401, 'twice in one second')
  t.strictSame(await app.authn.sessions.list('alice'), [])
})
