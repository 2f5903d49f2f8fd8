// All apps here are made before the package is loaded, as in CommonJS, where many apps load it in the
// line `app.register(require('fastify-authn'))`. So no helper that imports the package may be used.
import swagger from '@fastify/swagger'
import Fastify, { type FastifyInstance } from 'fastify'
import t, { type Test } from 'tap'
import type { AuthnOptions } from '../../lib/index.js'

interface Early {
  readonly app: FastifyInstance
  readonly runs: string[]
}

function early(declare: (app: FastifyInstance, run: () => string) => unknown): Early {
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
const typo = early((app, run) => {
  app.get('/typo', { config: { auth: 'required' as never } }, run)
})
const report = early((app, run) => {
  app.get('/early', run)
})
const audited = early((app, run) => {
  app.get('/early', run)
})
const empty = early(() => undefined)
const logged: string[] = []
const documented = Fastify({
  logger: { level: 'warn', stream: { write: (line: string) => void logged.push(line) } },
})
documented.register(swagger, { openapi: {} })

const { authn } = await import('../../lib/index.js')

/** The error that stops the boot, if any. */
async function boot(t: Test, { app }: Early, options: AuthnOptions = {}): Promise<unknown> {
  t.teardown(() => app.close())
  app.register(authn, { authenticator: { scheme: 'Bearer', authenticate: () => null }, ...options })
  try {
    await app.ready()
    return undefined
  } catch (error) {
    return error
  }
}

t.test('a group that was registered before stops the boot', async (t) => {
  t.match(await boot(t, group), {
    code: 'ERR_AUTH_MARK',
    message: /loaded after the app was made.*Load fastify-authn before/,
  })
  t.strictSame(group.runs, [], 'the handler did not run')
})

for (const [name, each] of Object.entries({ route, child })) {
  t.test(`a marked ${name} that was declared before is guarded`, async (t) => {
    const error = await boot(t, each)
    if (error === undefined) {
      const refused = await each.app.inject('/early')
      t.equal(refused.statusCode, 401)
      t.equal(refused.headers['www-authenticate'], 'Bearer realm="Authorization required"')
    } else t.match(error, { code: /^ERR_AUTH_/ })
    t.strictSame(each.runs, [], 'the handler did not run')
  })
}

t.test('a bad mark never opens a route', async (t) => {
  const error = await boot(t, typo)
  if (error === undefined) t.equal((await typo.app.inject('/typo')).statusCode, 500)
  else t.match(error, { code: 'ERR_AUTH_MARK' })
  t.strictSame(typo.runs, [], 'the handler did not run')
})

t.test('routes that were declared before are in no report, so there is none', async (t) => {
  t.equal(await boot(t, report), undefined)
  const message = /loaded after routes had been declared.* Load fastify-authn before you call/
  t.throws(() => report.app.authn.routes(), { code: 'ERR_AUTH_REPORT', message })
  t.throws(() => report.app.authn.printRoutes(), { code: 'ERR_AUTH_REPORT', message })
  const error = await boot(t, audited, { audit: 'explicit' })
  t.match(error, { code: 'ERR_AUTH_AUDIT', message })
})

t.test('an app without routes has missed none', async (t) => {
  const { app } = empty
  app.register(authn, { authenticator: { authenticate: () => null }, audit: 'explicit' })
  app.after(() => app.get('/x', { config: { auth: false } }, () => 'ok'))
  t.teardown(() => app.close())
  await app.ready()
  t.strictSame(
    app.authn.routes().map(({ url, methods }) => `${methods.join()} ${url}`),
    ['GET /x', 'HEAD /x'],
  )
})

t.test('documents that do not hear of the marks: the log says so', async (t) => {
  t.teardown(() => documented.close())
  documented.register(authn, { authenticator: { authenticate: () => null } })
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
