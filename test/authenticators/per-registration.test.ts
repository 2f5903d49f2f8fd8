import Fastify from 'fastify'
import t from 'tap'
import { authn, jwtAuthenticator } from '../../lib/index.js'
import { bearer, logLines, secret, userService } from '../helpers/app.js'
import type { Authenticator } from '../../types/authenticator.js'

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
