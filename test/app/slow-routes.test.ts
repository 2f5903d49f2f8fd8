import { PassThrough } from 'node:stream'
import { setImmediate } from 'node:timers/promises'
import t from 'tap'
import { authn } from '../../lib/index.js'
import { bearer, fastify, standardOptions } from '../helpers/app.js'
import { movableClock } from '../helpers/load.js'

t.test(
  'every route looks the user up again after a slow body, whenever it is declared',
  async (t) => {
    const clock = movableClock(t)
    const options = standardOptions()
    const { findByUsername } = options.userService
    let isGone = false
    const app = fastify(t)
    const auth = { config: { auth: true } } as const
    app.post('/before', auth, () => 'in')
    await app.register(authn, {
      ...options,
      userService: {
        findByUsername: (name, request) => (isGone ? null : findByUsername(name, request)),
      },
    })
    app.post('/after', auth, () => 'in')
    await app.register(async (scope) => scope.post('/scope', auth, () => 'in'))
    await app.ready()
    const headers = {
      ...bearer(app.jwtService.generateToken('alice')),
      'content-type': 'application/json',
    }
    for (const url of ['/before', '/after', '/scope']) {
      isGone = false
      const payload = new PassThrough()
      payload.write('{')
      const response = app.inject({ method: 'POST', url, headers, payload })
      for (let turns = 0; turns < 50; turns += 1) await setImmediate()
      await clock.advance(3000)
      isGone = true
      payload.end('}')
      t.equal((await response).statusCode, 401, url)
    }
  },
)
