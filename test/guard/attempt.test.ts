import Fastify from 'fastify'
import t from 'tap'
import { authn, AuthenticationError, jwtAuthenticator } from '../../lib/index.js'
import { appWith, bearer, secret, standardOptions } from '../helpers/app.js'

t.test('one that is spread is asked by its own authenticate', async (t) => {
  const original = jwtAuthenticator()
  const seen: string[] = []
  const wrapped = {
    ...original,
    authenticate(...[request]: Parameters<typeof original.authenticate>) {
      seen.push(request.url)
      return request.url === '/refused' ? undefined : original.authenticate(request)
    },
  }
  const app = Fastify()
  t.teardown(() => app.close())
  await app.register(authn, { ...standardOptions(), authenticator: wrapped as never, auth: true })
  let handled = 0
  for (const url of ['/', '/refused']) {
    app.get(url, () => {
      handled += 1
      return {}
    })
  }
  const headers = bearer(app.jwtService.generateToken('alice'))
  t.equal((await app.inject({ url: '/', headers })).statusCode, 200)
  const refused = await app.inject({ url: '/refused', headers })
  t.equal(refused.statusCode, 401)
  t.strictSame(refused.json(), { error: 'Invalid credentials.' })
  t.strictSame(seen, ['/', '/refused'])
  t.equal(handled, 1)
})

t.test('a user, or a promise of one: also of what only looks like a promise', async (t) => {
  const answers: Record<string, () => unknown> = {
    '/user': () => ({ name: 'alice' }),
    '/promise': async () => ({ name: 'alice' }),
    '/thenable': () => ({
      // oxlint-disable-next-line unicorn/no-thenable -- what is tested
      then(resolve: (user: object) => void) {
        resolve({ name: 'alice' })
        throw new Error('too late to count')
      },
    }),
    '/throws': () => ({
      // oxlint-disable-next-line unicorn/no-thenable -- what is tested
      get then(): unknown {
        throw new Error('no database')
      },
    }),
    '/rejects': () => Promise.reject(new Error('no database')),
  }
  const app = Fastify()
  t.teardown(() => app.close())
  const authenticate = ({ url }: { url: string }): unknown => answers[url]?.()
  await app.register(authn, { authenticator: { authenticate: authenticate as never }, auth: true })
  let handled = 0
  for (const url of Object.keys(answers)) {
    app.get(url, (request) => {
      handled += 1
      return request.user
    })
  }
  for (const url of ['/user', '/promise', '/thenable']) {
    const { statusCode, body } = await app.inject(url)
    t.strictSame([statusCode, body, handled], [200, '{"name":"alice"}', 1], url)
    handled = 0
  }
  for (const url of ['/throws', '/rejects']) {
    const fault = await app.inject(url)
    t.strictSame([fault.statusCode, handled], [500, 0], url)
    t.match(fault.json(), { code: 'ERR_AUTH_AUTHENTICATOR' })
    t.notMatch(fault.body, 'database')
  }
})

t.test('an error that is returned is no user', async (t) => {
  let calls = 0
  let returned: unknown
  const app = await appWith(
    t,
    { authenticator: { authenticate: () => returned as never } },
    (app) => {
      app.get('/', { config: { auth: true } }, () => (calls += 1))
    },
  )
  returned = new AuthenticationError('auth.invalid-credentials')
  const refused = await app.inject('/')
  t.equal(refused.statusCode, 401)
  t.strictSame(refused.json(), { error: 'Invalid credentials.' })
  returned = new Error('database down')
  const failed = await app.inject('/')
  t.equal(failed.statusCode, 500)
  t.notMatch(failed.body, /database/)
  t.equal(calls, 0)

  const findByUsername = async () => new Error('database down')
  const tokens = await appWith(t, { userService: { findByUsername }, jwt: { secret } }, (app) => {
    app.get('/', { config: { auth: true } }, () => (calls += 1))
  })
  const headers = bearer(tokens.jwtService.generateToken('alice'))
  t.equal((await tokens.inject({ url: '/', headers })).statusCode, 500)
  t.equal(calls, 0)
})
