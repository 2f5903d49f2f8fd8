// All apps here are made before the package is loaded, as in CommonJS, where many apps load it in the
// line `app.register(require('fastify-authn'))`. So no helper that imports the package may be used.
import Fastify, { type FastifyInstance } from 'fastify'
import t, { type Test } from 'tap'

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

const { authn } = await import('../../lib/index.js')

/** The error that stops the boot, if any. */
async function boot(t: Test, { app }: Early): Promise<unknown> {
  t.teardown(() => app.close())
  app.register(authn, { authenticator: { scheme: 'Bearer', authenticate: () => null } })
  try {
    await app.ready()
    return undefined
  } catch (error) {
    return error
  }
}

t.test('a group that was registered before is not open', async (t) => {
  const error = await boot(t, group)
  if (error === undefined) t.equal((await group.app.inject('/group')).statusCode, 401)
  else t.match(error, { code: /^ERR_AUTH_/ })
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
