// program: its own
// All apps here are made before the package is loaded, as in CommonJS, where many apps load it in the
// line `app.register(require('fastify-authn'))`. So no helper that imports the package may be used.
import swagger from '@fastify/swagger'
import Fastify, { type FastifyInstance } from 'fastify'
import t from 'tap'

/** An app whose handlers remember their runs. */
function early(declare: (app: FastifyInstance, run: () => string) => unknown) {
  const runs: string[] = []
  const app = Fastify()
  declare(app, () => {
    runs.push('ran')
    return 'ran'
  })
  return { app, runs }
}

const group = early((app, run) => {
  app.register(async (app) => void app.get('/group', run), { auth: true })
})
const route = early((app, run) => {
  app.get('/early', { config: { auth: true } }, run)
  app.get('/open', run)
})
const child = early((app, run) => {
  app.register(async (app) => void app.get('/early', { config: { auth: true } }, run))
})
const wrongMark = early((app, run) => {
  app.get('/early', { config: { auth: 'required' as never } }, run)
})
const empty = early(() => undefined)
const logged: string[] = []
const documented = Fastify({
  logger: { level: 'warn', stream: { write: (line: string) => void logged.push(line) } },
})
documented.register(swagger, { openapi: {} })

const { authn } = await import('../../lib/index.js')

const authenticator = { scheme: 'Bearer', authenticate: () => null }

for (const [name, { app, runs }] of Object.entries({
  'a group with a mark': group,
  'a route with a mark': route,
  'a scope with a route': child,
  'a route with a wrong mark': wrongMark,
})) {
  t.test(`${name} that was declared before the import makes startup fail`, async (t) => {
    t.teardown(() => app.close())
    app.register(authn, { authenticator })
    const error = await Promise.resolve(app.ready()).catch((reason: unknown) => reason)
    t.match(error, {
      code: 'ERR_AUTH_MARK',
      message: /loaded after routes or scopes.*Import fastify-authn before/,
    })
    t.strictSame(runs, [], 'the handler did not run')
  })
}

t.test('an app without routes at the import is checked for marks and reported', async (t) => {
  const { app } = empty
  app.register(authn, { authenticator, requireMarks: true })
  app.after(() => app.get('/x', { config: { auth: false } }, () => 'ok'))
  t.teardown(() => app.close())
  await app.ready()
  const found = app.authn.routes().map(({ url, methods }) => `${methods.join()} ${url}`)
  t.strictSame(found, ['GET /x', 'HEAD /x'])
})

t.test('@fastify/swagger before the import gives a warning, and no security', async (t) => {
  t.teardown(() => documented.close())
  documented.register(authn, { authenticator })
  documented.register(async (app) => {
    app.get('/', { config: { auth: true } }, () => 'ran')
  })
  await documented.ready()
  const { paths } = documented.swagger() as { paths: Record<string, { get: object }> }
  t.notOk('security' in (paths['/']?.get ?? {}))
  t.equal(logged.length, 1)
  t.match(JSON.parse(logged[0] ?? ''), {
    level: 40,
    msg: /^@fastify\/swagger was registered before fastify-authn was loaded.*Import fastify-authn before/,
  })
})
