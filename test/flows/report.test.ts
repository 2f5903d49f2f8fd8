// The report is worth something only as far as it is what the guard does: every row is put to the test, in
// an app with each mark on a route in each kind of scope.
import Fastify, { type FastifyInstance } from 'fastify'
import t from 'tap'
import {
  authn,
  AuthenticationError,
  type Authenticator,
  type AuthMark,
  type AuthnOptions,
  type AuthnRoute,
} from '../../lib/index.js'

type Mark = AuthMark | undefined

const marks: readonly Mark[] = [undefined, true, false, 'optional', 'try', { use: 'lax' }]
const authenticator: Authenticator = {
  authenticate({ headers }) {
    if (headers['x-key'] === undefined) return null
    throw new AuthenticationError('auth.invalid-credentials')
  },
}
const options = (auth: Mark): AuthnOptions => ({
  authenticator,
  authenticators: { lax: { ...authenticator, optional: true } },
  ...(auth !== undefined && { auth }),
})

function declareRoutes(app: FastifyInstance): void {
  for (const [at, auth] of marks.entries()) {
    app.get(`/${at}`, { config: auth === undefined ? {} : { auth } }, () => 'ran')
  }
}

/** A scope with a mark, and a registration of its own before or after its routes, or none. */
async function declareScopes(app: FastifyInstance): Promise<void> {
  let count = 0
  for (const auth of marks) {
    for (const order of ['none', 'before', 'after']) {
      for (const pluginMark of order === 'none' ? [undefined] : [undefined, true, false]) {
        const declare = async (app: FastifyInstance): Promise<void> => {
          if (order === 'before') await app.register(authn, options(pluginMark))
          declareRoutes(app)
          await app.register(async (app) => declareRoutes(app), { prefix: '/deep' })
          if (order === 'after') await app.register(authn, options(pluginMark))
        }
        await app.register(declare, {
          prefix: `/scope-${(count += 1)}`,
          ...(auth !== undefined && { auth }),
        })
      }
    }
  }
}

/** The statuses of requests without credentials, and with wrong ones. */
const expected = new Map<AuthnRoute['mode'], readonly number[]>([
  [true, [401, 401]],
  ['optional', [200, 401]],
  ['try', [200, 200]],
  [false, [200, 200]],
])

for (const pluginMark of [undefined, 'optional'] as const) {
  t.test(`what the report says is what the guard does, with auth: ${pluginMark}`, async (t) => {
    const app = Fastify()
    t.teardown(() => app.close())
    declareRoutes(app)
    await app.register(authn, options(pluginMark))
    await declareScopes(app)
    await app.ready()
    const routes = app.authn.routes()
    t.equal(routes.length, 2 * (6 + 6 * 7 * 12))
    const wrong: string[] = []
    for (const { methods, url, mode } of routes) {
      const statuses: number[] = []
      for (const headers of [{}, { 'x-key': 'wrong' }]) {
        const response = await app.inject({ method: methods[0] as 'GET', url, headers })
        statuses.push(response.statusCode)
      }
      if (String(statuses) !== String(expected.get(mode))) {
        wrong.push(`${methods.join()} ${url}: ${mode}, but ${statuses.join()}`)
      }
    }
    t.strictSame(wrong, [])
    t.strictSame(new Set(routes.map(({ mode }) => mode)), new Set(expected.keys()))
  })
}
