import t from 'tap'
import { authn, basicAuthenticator, jwtAuthenticator, type AuthMark } from '../../lib/index.js'
import { appWith, basic, bearer, passwords, standardOptions } from '../helpers/app.js'
import { basicChallenge, isRefusal, isWelcome, probe, texts } from '../helpers/flows.js'

type Seen = string | null | 401

/** What each mark does with: no credentials, a right token, a wrong one, a right and a wrong password. */
const table: [AuthMark, Seen, Seen, Seen, Seen, Seen][] = [
  [true, 401, 'alice', 401, 401, 401],
  [false, null, null, null, null, null],
  ['optional', null, 'alice', 401, null, null],
  ['try', null, 'alice', null, null, null],
  [{ mode: true }, 401, 'alice', 401, 401, 401],
  [{ mode: false }, null, null, null, null, null],
  [{ mode: 'optional' }, null, 'alice', 401, null, null],
  [{ mode: 'try' }, null, 'alice', null, null, null],
  [{ use: 'jwt' }, 401, 'alice', 401, 401, 401],
  [{ use: ['jwt'] }, 401, 'alice', 401, 401, 401],
  [{ use: 'basic' }, 401, 401, 401, 'bob', 401],
  [{ mode: 'optional', use: 'basic' }, null, null, null, 'bob', 401],
  [{ mode: 'try', use: 'basic' }, null, null, null, 'bob', null],
  [{ mode: false, use: 'basic' }, null, null, null, null, null],
  [{ use: ['jwt', 'basic'] }, 401, 'alice', 401, 'bob', 401],
  [{ mode: 'optional', use: ['jwt', 'basic'] }, null, 'alice', 401, 'bob', 401],
  [{ mode: 'try', use: ['jwt', 'basic'] }, null, 'alice', null, 'bob', null],
  [{ use: 'lenient' }, null, 'alice', 401, null, null],
  [{ mode: 'optional', use: 'lenient' }, null, 'alice', 401, null, null],
  [{ mode: 'try', use: 'lenient' }, null, 'alice', null, null, null],
  [{ mode: false, use: 'lenient' }, null, null, null, null, null],
  [{ use: ['lenient', 'basic'] }, 401, 'alice', 401, 'bob', 401],
]

for (const place of ['route', 'group', 'plugin'] as const) {
  t.test(`every mark on a ${place}, against every kind of credentials`, async (t) => {
    const { handler, take } = probe()
    const options = {
      ...standardOptions(),
      throttle: false,
      authenticators: { lenient: jwtAuthenticator({ optional: true }) },
    } as const
    const app = await appWith(t, options, async (app) => {
      for (const [at, [auth]] of table.entries()) {
        const url = `/${at}`
        if (place === 'route') app.get(url, { config: { auth } }, handler)
        else if (place === 'group') {
          await app.register(async (app) => void app.get(url, handler), { auth })
        } else {
          await app.register(async (app) => {
            await app.register(authn, { ...options, auth, login: false })
            app.get(url, handler)
          })
        }
      }
    })
    const credentials = [
      {},
      bearer(app.jwtService.generateToken('alice')),
      bearer('a.b.c'),
      basic('bob', passwords.bob),
      basic('bob', 'wrong'),
    ]
    for (const [at, [auth, ...expected]] of table.entries()) {
      for (const [index, headers] of credentials.entries()) {
        const response = await app.inject({ url: `/${at}`, headers })
        const seen = expected[index]
        const name = `${JSON.stringify(auth)}, ${Object.values(headers).join().slice(0, 12)}`
        if (seen === 401) t.equal(response.statusCode, 401, name)
        else isWelcome(t, response, seen, name)
        t.equal(take(), seen === 401 ? 0 : 1, name)
      }
    }
  })
}

t.test('an optional authenticator is optional in its own registration only', async (t) => {
  const { handler } = probe()
  const app = await appWith(
    t,
    { ...standardOptions(), authenticator: basicAuthenticator({ optional: true }) },
    (app) => {
      app.get('/default', { config: { auth: true } }, handler)
      app.get('/basic', { config: { auth: { use: 'basic' } } }, handler)
    },
  )
  isWelcome(t, await app.inject('/default'), null, 'the authenticator of marks without use')
  isRefusal(t, await app.inject('/basic'), { error: texts.none, challenge: basicChallenge })
})
