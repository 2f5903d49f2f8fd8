// What startup says of the routes at the address of a resource, and of the scopes that clients are told to request.
import t from 'tap'
import { authn, type AuthMark, type ResourceOptions } from '../../lib/index.js'
import { fastify, logLines, type TestApp } from '../helpers/app.js'
import { startupError } from '../helpers/flows.js'

const issuers = { corp: { issuer: 'https://id.example.com', user: () => null } }
const at = (path: string) => `https://api.example.com${path}`
const ok = (): string => 'ok'
const auth = (mark: AuthMark) => ({ config: { auth: mark } })
const marked = auth(true)
const within = (prefix: string, declare: (app: TestApp) => unknown) => (app: TestApp) =>
  app.register(async (inner) => void declare(inner), { prefix })

t.test('startup fails for a route without a mark at the address of the resource', async (t) => {
  type Row = [string, (app: TestApp) => unknown, isOpen: boolean, settings?: object]
  const rows: Row[] = [
    ['/mcp', (app) => app.post('/mcp', ok), true],
    ['/mcp', (app) => app.all('/mcp', ok), true],
    ['/mcp', (app) => app.get('/mcp', ok).post('/mcp', marked, ok), true],
    ['/mcp', (app) => app.post('/mcp/', ok), true],
    ['/mcp', (app) => app.post('/MCP', ok), false],
    ['/mcp', (app) => app.post('/MCP', ok), true, { routerOptions: { caseSensitive: false } }],
    ...['/*', '*', '/:any', '/:any(^mcp$)', '/mcp/:id?', '/:any?'].map((url): Row => [
      '/mcp',
      (app) => app.post(url, ok).post('/mcp/a', marked, ok),
      true,
    ]),
    ['', (app) => app.post('/*', ok), true],
    ['/mcp', (app) => app.post('/:any', ok).post('/*', marked, ok), true],
    ['/mcp', (app) => app.post('/*', ok).post('/:any', marked, ok), false],
    ['/mcp', (app) => app.post('/:a/:b', ok).post('/m:c', ok).post('/mcp', marked, ok), false],
    ['/mcp', (app) => app.post('/:a/b', ok).post('/x/*', ok).post('/m.p+(a)', ok), false],
    ['/mcp/', (app) => app.post('/mcp', ok), true],
    ['/api/mcp', within('/api', (app) => app.post('/mcp', ok)), true],
    ['/api', within('/api', (app) => app.get('/', ok)), true],
    ['', (app) => app.post('/', ok), true],
    ['/mcp', (app) => app.post('/mcp', marked, ok), false],
    ['/mcp', (app) => app.post('/mcp', auth('optional'), ok), false],
    ['/mcp', (app) => app.get('/mcp', auth(false), ok).post('/mcp', marked, ok), false],
    ['/mcp', (app) => app.options('/mcp', ok).post('/mcp', marked, ok), false],
    ['/mcp', (app) => app.get('/mcp/health', ok).get('/', ok).post('/mcp', marked, ok), false],
    ['/mcp', (app) => app.get('/:page', ok).get('/*', ok).post('/mcp', marked, ok), false],
    ['', (app) => app.get('/health', ok).post('/', marked, ok), false],
  ]
  for (const [index, [path, declare, isOpen, settings]] of rows.entries()) {
    for (const isBefore of [true, false]) {
      const app = fastify(t, settings)
      const error = await startupError(async () => {
        if (isBefore) await declare(app)
        await app.register(authn, { resource: at(path), issuers })
        if (!isBefore) await declare(app)
        await app.ready()
      })
      const message = /option "resource": found .*(?:mcp|api|\/).*auth: false/i
      if (isOpen) t.match(error, { code: 'ERR_AUTH_OPTION', message }, `${index} ${path}`)
      else t.equal(error, undefined, `${index} ${path}`)
    }
  }
})

const protectedRoute = (app: TestApp) => app.post('/mcp', marked, ok)
const offline = 'offline_access'

t.test('warnings', async (t) => {
  type Row = [said: RegExp[], declare: (app: TestApp) => unknown, more?: Partial<ResourceOptions>]
  const nothing = /no protected route/
  const rows: Row[] = [
    [[], protectedRoute],
    [[], within('/mcp', (app) => app.get('/notes', marked, ok))],
    [[], (app) => app.post('/:tenant', marked, ok)],
    [[], (app) => app.post('/*', marked, ok)],
    [[/GET \/\* at the address/], (app) => app.get('/*', ok).post('/mcp/notes', marked, ok)],
    [
      [/GET,HEAD \/\* at/],
      (app) =>
        app.route({ method: ['HEAD', 'GET'], url: '/*', handler: ok }).post('/mcp/a', marked, ok),
    ],
    [[], (app) => app.get('/*', ok).post('/mcp', marked, ok)],
    [[], (app) => app.post('/MCP', ok).post('/mcp', marked, ok)],
    [[], (app) => app.post('/mcp/:id', marked, ok)],
    [[nothing], (app) => app.get('/users/:id', marked, ok)],
    [[], protectedRoute, { identifier: at('') }],
    [[nothing], () => undefined],
    [[nothing], (app) => app.post('/mcp', auth(false), ok)],
    [[nothing], (app) => app.get('/mcpx', marked, ok).get('/notes/mcp', marked, ok)],
    [[nothing], protectedRoute, { identifier: at('/notes') }],
    [
      [/POST \/mcp.*offline_access/],
      (app) => app.post('/mcp', auth({ scope: { any: ['notes', offline] } }), ok),
    ],
    [
      [/POST \/mcp.*offline_access/],
      (app) => app.post('/mcp', auth({ scope: offline }), ok),
      { scopesSupported: ['notes'] },
    ],
    [
      [/resource\.scopesSupported.*offline_access/],
      protectedRoute,
      { scopesSupported: ['notes', offline] },
    ],
    [[], protectedRoute, { scopesSupported: false }],
  ]
  for (const [index, [said, declare, more]] of rows.entries()) {
    const { lines, stream } = logLines()
    const app = fastify(t, { logger: { level: 'warn', stream } })
    await app.register(authn, { resource: { identifier: at('/mcp'), ...more }, issuers })
    await declare(app)
    await app.ready()
    t.equal(lines.length, said.length, `row ${index}`)
    for (const [at, each] of said.entries()) t.match(lines[at], { level: 40, msg: each })
  }
})
