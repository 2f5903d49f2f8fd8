import Fastify from 'fastify'
import t from 'tap'
import { perRegistration, registrationOf } from '../../lib/registration.js'
import { authn, jwtAuthenticator } from '../../lib/index.js'
import { bearer, logLines, secret, userService } from '../helpers/app.js'
import { thrownBy } from '../helpers/errors.js'
import { requestWith, serverWith } from '../helpers/fakes.js'
import type { Authenticator } from '../../types/authenticator.js'

t.test('each registration has one state, made once, at startup', async (t) => {
  const made: unknown[] = []
  const state = perRegistration('test', (registration) => {
    made.push(registration)
    return { of: registration }
  })
  const servers = [serverWith({}), serverWith({})]
  const registrations = servers.map(registrationOf)
  for (const server of servers) state.init(server)
  t.strictSame(made, registrations)
  registrations.forEach((registration, index) => {
    const request = requestWith({}, servers[index])
    t.equal(state.of(request).of, registration)
    t.equal(state.of(request), state.of(request), 'the very same one')
  })
  t.equal(made.length, 2)
})

t.test('a request gets the state of its nearest registration', async (t) => {
  const state = perRegistration('test', (registration) => registration)
  const [outer, inner] = [{}, {}].map(serverWith) as [object, object]
  state.init(outer as never)
  state.init(inner as never)
  const child: object = Object.create(inner)
  t.equal(state.of(requestWith({}, child)), state.of(requestWith({}, inner)))
  t.not(state.of(requestWith({}, child)), state.of(requestWith({}, outer)))
})

t.test('a state whose creation throws is an error at startup and at its use', async (t) => {
  const state = perRegistration('test', () => {
    throw new Error('no key')
  })
  const server = serverWith({})
  t.equal(thrownBy(() => state.init(server)).message, 'no key')
  t.equal(thrownBy(() => state.of(requestWith({}, server))).code, 'ERR_AUTH_OPTION')
})

t.test('an authenticator that is used before its init throws an error that says so', async (t) => {
  const state = perRegistration('jwtAuthenticator', () => 'state')
  state.init(serverWith({}))
  for (const server of [serverWith({}), {}]) {
    const { code, message } = thrownBy(() => state.of(requestWith({}, server)))
    t.equal(code, 'ERR_AUTH_OPTION')
    t.equal(
      message,
      'fastify-authn: jwtAuthenticator is used before its init(). An authenticator that wraps it has to call init(app) of what it wraps, or to spread it.',
    )
  }
})

t.test('a wrapper of a built-in accepts its tokens, and is a 500 if it forgets init', async (t) => {
  const inner = jwtAuthenticator()
  const wrappers: Record<string, [Authenticator, number]> = {
    spread: [{ ...inner, authenticate: (request) => inner.authenticate(request) }, 200],
    'init by hand': [
      {
        init: (app) => inner.init?.(app),
        authenticate: (request) => inner.authenticate(request),
      },
      200,
    ],
    'init forgotten': [{ authenticate: (request) => inner.authenticate(request) }, 500],
  }
  for (const [title, [wrapper, status]] of Object.entries(wrappers)) {
    await t.test(title, async (t) => {
      const { lines, stream } = logLines()
      const app = Fastify({ logger: { level: 'error', stream } })
      t.teardown(() => app.close())
      await app.register(authn, {
        userService: userService(),
        jwt: { secret },
        authenticators: { wrapper },
      })
      let ran = 0
      app.get('/', { config: { auth: { use: 'wrapper' } } }, async (request) => {
        ran += 1
        return request.user
      })
      const headers = bearer(app.jwtService.generateToken('alice'))
      const response = await app.inject({ url: '/', headers })
      t.equal(response.statusCode, status)
      t.equal(ran, status === 200 ? 1 : 0)
      if (status === 200) {
        t.strictSame(response.json(), { id: 1, name: 'alice' })
        t.strictSame(lines, [])
      } else {
        t.notMatch(response.body, 'init')
        t.equal(lines.length, 1)
        t.match(JSON.stringify(lines[0]), 'jwtAuthenticator is used before its init()')
      }
    })
  }
})
