import Fastify from 'fastify'
import t from 'tap'
import { authn, AuthenticationError, jwtAuthenticator } from '../lib/index.js'
import { directOf } from '../lib/verdict.js'
import { bearer, standardOptions } from './helpers/app.js'

t.test('an authenticator that is spread keeps the direct way', async (t) => {
  const original = jwtAuthenticator()
  t.type(directOf(original), 'function')
  t.equal(directOf({ ...original, optional: true }), directOf(original))
})

t.test('one with another authenticate has none, so that it is asked', async (t) => {
  const original = jwtAuthenticator()
  const seen: string[] = []
  const wrapped = {
    ...original,
    authenticate(...[request]: Parameters<typeof original.authenticate>) {
      seen.push(request.url)
      return request.url === '/refused' ? undefined : original.authenticate(request)
    },
  }
  t.equal(directOf(wrapped as never), undefined)

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

t.test('one whose authenticate is replaced while the app runs is asked', async (t) => {
  const authenticator = jwtAuthenticator()
  const app = Fastify()
  t.teardown(() => app.close())
  await app.register(authn, { ...standardOptions(), authenticator })
  let handled = 0
  app.get('/', { config: { auth: true } }, () => {
    handled += 1
    return {}
  })
  const headers = bearer(app.jwtService.generateToken('alice'))
  t.equal((await app.inject({ url: '/', headers })).statusCode, 200)
  authenticator.authenticate = () => {
    throw new AuthenticationError('auth.invalid-credentials')
  }
  const refused = await app.inject({ url: '/', headers })
  t.equal(refused.statusCode, 401)
  t.strictSame(refused.json(), { error: 'Invalid credentials.' })
  t.match(refused.headers['www-authenticate'], /^Bearer .*error="invalid_token"/)
  t.equal(handled, 1)
})
