// Refreshes by routes of the app, under other names and paths, and what fails in a refresh.
import Fastify from 'fastify'
import t, { type Test } from 'tap'
import { authn, type AuthnOptions } from '../../lib/index.js'
import { memorySessions } from '../../lib/sessions/index.js'
import { newRefreshToken } from '../../lib/sessions/refresh-token.js'
import { passwords, standardOptions, users } from '../helpers/app.js'
import { startupError, isFault, type AnyResponse } from '../helpers/flows.js'
import { cookiesOf, linesOf } from '../helpers/cookies.js'
import {
  breakable,
  clientOf,
  eventsOf,
  heldStore,
  pairOf,
  sessionApp,
  storeWith,
} from '../helpers/sessions.js'

const alice = { username: 'alice', password: passwords.alice }

/** An app with a route of its own that refreshes the token of its body, whatever that is. */
async function setting(t: Test, options: Partial<AuthnOptions> = {}) {
  const store = breakable(memorySessions())
  const app = await sessionApp(t, { sessions: { store: store.factory }, ...options }, (app) => {
    app.post<{ Body: { code: string } }>('/exchange', (request, reply) =>
      app.authn.sessions.refresh(request.body.code, request, reply),
    )
  })
  const client = clientOf(app)
  const exchange = (code: unknown): Promise<AnyResponse> => client.post('/exchange', { code })
  return { app, store, exchange, ...client }
}

t.test('a route of the app refreshes, rejects and throttles as the plugin does', async (t) => {
  const { exchange, login, me, store, refresh } = await setting(t, { throttle: { perAddress: 6 } })
  const [successes, failures] = [eventsOf(t, 'success'), eventsOf(t, 'failure')]
  const first = await login()
  const response = await exchange(first.refreshToken)
  t.equal(response.headers['cache-control'], 'no-store')
  const next = pairOf(response)
  t.equal(await me(next.token), 200)
  t.match(successes[0], { authenticator: 'refresh', user: { name: 'alice' } })
  const wrong = ['', 7, null, undefined, 'x', newRefreshToken().text]
  for (const [index, each] of wrong.entries()) {
    const code = `ERR_AUTH_${index < 4 ? 'NO_CREDENTIALS' : 'REFRESH_INVALID'}`
    const rejected = await exchange(each)
    t.match(JSON.parse(rejected.body), { statusCode: 401, code }, String(each))
    t.match(failures.at(-1), { authenticator: 'refresh', code })
  }
  for (let count = 0; count < 4; count += 1) await exchange(`y${count}`)
  const asked = store.calls.length
  t.equal((await exchange(next.refreshToken)).statusCode, 429, 'wrong ones have been counted')
  t.equal((await refresh(next.refreshToken)).statusCode, 429, 'for both routes')
  t.equal(store.calls.length, asked)
})

t.test('a route of the app that refreshes sets cookies, and a 401 deletes them', async (t) => {
  const { post, exchange } = await setting(t, { cookies: true })
  const cookies = cookiesOf(await post('/login', alice))
  const { value: token } = cookies.find(({ name }) => name.includes('refresh')) ?? {}
  const response = await exchange(token)
  t.strictSame(JSON.parse(response.body), { expiresIn: 300 })
  t.equal(linesOf(response).length, 2)
  t.equal(linesOf(await exchange('x')).length, 2, 'a 401 deletes them')
})

t.test('login.body renames the members of a login and a refresh', async (t) => {
  const login: AuthnOptions['login'] = {
    path: '/auth/token',
    body: ({ token, refreshToken, ...others }) => ({
      access_token: token,
      refresh_token: refreshToken,
      ...others,
    }),
  }
  const { post, me, exchange } = await setting(t, { login })
  const read = (response: AnyResponse) => JSON.parse(response.body) as Record<string, string>
  const first = read(await post('/auth/token', alice))
  t.strictSame(Object.keys(first), ['access_token', 'refresh_token', 'expiresIn'])
  const second = read(await post('/auth/token/refresh', { refreshToken: first.refresh_token }))
  const third = read(await exchange(second.refresh_token))
  t.equal(await me(String(third.access_token)), 200)
  for (const url of ['/login', '/login/refresh', '/logout']) {
    t.equal((await post(url)).statusCode, 404, url)
  }
  t.equal((await post('/auth/logout', { refreshToken: third.refresh_token })).statusCode, 204)

  const cookies = await setting(t, { cookies: true, login })
  t.strictSame(read(await cookies.post('/auth/token', alice)), { expiresIn: 300 })
})

t.test('a login.body that returns no object is a 500, and the client can try again', async (t) => {
  const failing = { is: false }
  const bodies = {
    'a string': () => 'x' as never,
    'an array': () => [],
    nothing: () => undefined as never,
    'a promise': () => Promise.reject(new Error('late')),
    'no JSON': () => ({ big: 1n }),
    'an error': () => {
      throw new Error('secret')
    },
  }
  for (const [title, wrong] of Object.entries(bodies)) {
    const body = (tokens: object): object => (failing.is ? wrong() : tokens)
    const { login, refresh, post, me } = await setting(t, { login: { body } })
    failing.is = false
    const { refreshToken } = await login()
    failing.is = true
    isFault(t, await refresh(refreshToken), 'ERR_AUTH_TOKEN_FUNC', title)
    isFault(t, await post('/login', alice), 'ERR_AUTH_TOKEN_FUNC', title)
    failing.is = false
    t.equal(await me(pairOf(await refresh(refreshToken)).token), 200, title)
  }
})

t.test('the routes of sessions move with login.path alone', async (t) => {
  for (const name of ['refreshPath', 'logoutPath']) {
    const login = { [name]: '/same' }
    const options = { ...standardOptions(), sessions: true, login } as AuthnOptions
    const error = await startupError(() => Fastify().register(authn, options))
    t.match(error, {
      code: 'ERR_AUTH_OPTION',
      message: new RegExp(`unknown option "login\\.${name}"`),
    })
  }
})

t.test('a refresh token still works after a refresh with it that was a 500', async (t) => {
  const broken = { is: '' }
  const claims = () => ({ odd: broken.is === 'claims' ? 1n : 1 })
  const service = {
    async findByUsername(name: string) {
      const user = users.find((each) => each.name === name)
      return {
        ...user,
        get odd() {
          if (broken.is === 'user') throw new Error('a getter')
          return 1
        },
      }
    },
  }
  const sessions = { grace: 0 }
  const options = { userService: service, sessions, login: { claims } }
  const { login, refresh, me } = await setting(t, options)
  let pair = await login()
  for (const [is, code] of [
    ['claims', 'ERR_AUTH_TOKEN_FUNC'],
    ['user', 'ERR_AUTH_AUTHENTICATOR'],
  ] as const) {
    broken.is = is
    isFault(t, await refresh(pair.refreshToken), code)
    broken.is = ''
    pair = pairOf(await refresh(pair.refreshToken))
  }
  t.equal(await me(pair.token), 200)
})

t.test('a process dies after it has stored a refresh: another one repeats it', async (t) => {
  const { factory } = heldStore()
  const dying = storeWith(
    (store) => ({
      async swap(given) {
        await store.swap(given)
        throw new Error('the process is gone')
      },
    }),
    factory,
  )
  const mortal = clientOf(await sessionApp(t, { sessions: { store: dying } }))
  const other = clientOf(await sessionApp(t, { sessions: { store: factory } }))
  const first = await mortal.login()
  t.equal((await mortal.refresh(first.refreshToken)).statusCode, 503)
  const second = pairOf(await other.refresh(first.refreshToken))
  const third = pairOf(await other.refresh(second.refreshToken))
  t.equal(await other.me(third.token), 200)
})
