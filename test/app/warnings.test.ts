import { once } from 'node:events'
import cors from '@fastify/cors'
import type { FastifyInstance } from 'fastify'
import t, { type Test } from 'tap'
import { authn } from '../../lib/index.js'
import { fastify, logLines, standardOptions } from '../helpers/app.js'

const ok = (): string => 'ok'

interface Warned {
  readonly code?: string
  readonly name: string
  readonly message: string
}

/** Starts an app. @returns the warnings of this package */
async function start(t: Test, declare: (app: FastifyInstance) => unknown): Promise<Warned[]> {
  const app = fastify(t)
  await declare(app)
  const warnings: Warned[] = []
  const listen = (warning: Warned): void => void warnings.push(warning)
  process.on('warning', listen)
  try {
    await app.ready()
    await app.ready()
    // Warnings come in order, so those of the package have come when this one has.
    process.emitWarning('the last one', { code: 'LAST' })
    while (!warnings.some(({ code }) => code === 'LAST')) await once(process, 'warning')
  } finally {
    process.off('warning', listen)
  }
  const ours = warnings.filter(({ code }) => code === 'FASTIFY_AUTHN_UNREGISTERED')
  // Where another test of this process has loaded a second copy of the package, each copy gives the same one.
  return [...new Map(ours.map((warning) => [warning.message, warning])).values()]
}

const named = ({ message }: Warned): string[] => message.split('\n').slice(1)

t.test('marked routes of an app without the plugin give one warning that names them', async (t) => {
  const warnings = await start(t, async (app) => {
    app.get('/me', { config: { auth: true } }, ok)
    app.get('/greeting', { config: { auth: 'optional' } }, ok)
    app.post('/key', { config: { auth: { use: 'jwt' } } }, ok)
    app.get('/open', ok)
    app.get('/decided', { config: { auth: false } }, ok)
    await app.register(async (scope) => void scope.get('/reports', ok), {
      prefix: '/admin',
      auth: true,
    })
  })
  t.equal(warnings.length, 1)
  const [warning] = warnings as [Warned]
  t.match(warning.message, /never registers the plugin, so they are open to everyone/)
  t.match(warning.message, /--disable-warning=FASTIFY_AUTHN_UNREGISTERED/)
  t.strictSame(named(warning), [
    '  GET /admin/reports',
    '  GET /greeting',
    '  GET /me',
    '  POST /key',
  ])
})

t.test('an app without marks, or with the plugin, gives no warning', async (t) => {
  t.strictSame(await start(t, (app) => void app.get('/', ok)), [], 'no marks')
  const foreign = await start(t, async (app) => {
    // As other plugins write it.
    app.get('/roles', { config: { auth: ['admin'] as never } }, ok)
    app.get('/strategy', { config: { auth: 'session' as never } }, ok)
    app.get('/object', { config: { auth: { strategy: 'jwt' } as never } }, ok)
    await app.register(async (scope) => void scope.get('/mail', ok), { auth: { user: 'a' } })
  })
  t.strictSame(foreign, [], 'config.auth of another plugin')
  const registered = await start(t, (app) => {
    app.get('/me', { config: { auth: true } }, ok)
    void app.register(authn, standardOptions())
  })
  t.strictSame(registered, [], 'registered, after the route')
})

t.test('the warning names few of many routes, and escapes control characters', async (t) => {
  const [warning] = (await start(t, (app) => {
    for (let i = 0; i < 25; i += 1) app.post(`/r${i}`, { config: { auth: true } }, ok)
    app.post('/a\u202eb', { config: { auth: true } }, ok)
  })) as [Warned]
  t.equal(named(warning).length, 21)
  t.equal(named(warning).at(-1), '  and 6 more')
  t.match(warning.message, '/a\\u{202e}b')
})

t.test('a warning says that @fastify/cors is registered too late', async (t) => {
  const ours = (app: FastifyInstance) => app.register(authn, standardOptions())
  const theirs = (app: FastifyInstance) => app.register(cors)
  const inner = (app: FastifyInstance) => app.register(async (scope) => void scope.register(cors))
  const rows: [title: string, isLate: boolean, steps: ((app: FastifyInstance) => unknown)[]][] = [
    ['before', false, [theirs, ours]],
    ['after', true, [ours, theirs]],
    ['in an inner scope', true, [inner, ours]],
    ['not at all', false, [ours]],
  ]
  for (const [title, isLate, steps] of rows) {
    const { lines, stream } = logLines()
    const app = fastify(t, { logger: { level: 'warn', stream } })
    for (const step of steps) await step(app)
    await app.ready()
    const said = lines.map(({ msg }) => String(msg)).filter((msg) => msg.includes('@fastify/cors'))
    t.equal(said.length, isLate ? 1 : 0, title)
    if (isLate) t.match(said[0], /registered after fastify-authn or in an inner scope/)
  }
})

t.test('a line of the log counts the protected routes, and names the open ones', async (t) => {
  const log = logLines()
  const app = fastify(t, { logger: { stream: log.stream } })
  await app.register(authn, standardOptions())
  app.get('/me', { config: { auth: true } }, ok)
  app.get('/open', ok)
  app.post('/decided', { config: { auth: false } }, ok)
  await app.ready()
  const lines = log.lines.filter(({ msg }) => /\d open/.test(String(msg)))
  t.match(lines, [{ level: 30, msg: /1 protected route, 2 open: GET \/open, POST \/decided/ }])
})
