// Options of a resource with which startup fails.
import t from 'tap'
import { authn, type AnyAuthnOptions } from '../../lib/index.js'
import { fastify } from '../helpers/app.js'
import { startupError } from '../helpers/flows.js'

const identifier = 'https://api.example.com/mcp'
const wellKnown = '/.well-known/oauth-protected-resource'
const issuer = { issuer: 'https://id.example.com', user: () => null }
const issuers = { corp: issuer }
const object = (more: object) => ({ resource: { identifier, ...more }, issuers })

const withIssuer = (more: object) => ({
  resource: identifier,
  issuers: { corp: { ...issuer, ...more } },
})
const host = 'https://api.example.com'
const wrongPaths =
  '/mcp?a=1 /mcp? /mcp#a /mcp# :443/mcp /a/../mcp /./mcp /a/%2e%2e/mcp //mcp /mcp/:id /* /(a) /a%20b'
const identifiers = [
  ...wrongPaths.split(' ').map((path) => host + path),
  ...['/a b', '\\mcp', '/mcp\n'].map((path) => host + path),
  ...'api /mcp http://api.example.com/mcp ftp://api.example.com/mcp'.split(' '),
  ...'https://alice@api.example.com/mcp https://alice:secret@api.example.com/mcp'.split(' '),
  ...'HTTPS://api.example.com/mcp https://API.example.com/mcp'.split(' '),
  ` ${host}/mcp`,
]

const rows: [name: string, options: object, said?: RegExp][] = [
  ['resource', { resource: '', issuers }],
  ['resource', { resource: 5, issuers }],
  ['resource', { resource: null, issuers }],
  ['resource', { resource: undefined as never, issuers: { corp: { ...issuer } } }, /audience/],
  ['resource', { resource: [identifier], issuers }],
  ['resource.identifier', { resource: {}, issuers }],
  ['resource.identifier', object({ identifier: undefined }), /variable/],
  ['resource.nam', object({ nam: 'Notes' }), /resource\.name/],
  ['resource.name', object({ name: '' })],
  ['resource.scopesSupported', object({ scopesSupported: 'a b' })],
  ['resource.scopesSupported', object({ scopesSupported: true })],
  ['resource.scopesSupported.0', object({ scopesSupported: ['a b'] })],
  ['resource.scopesSupported.1', object({ scopesSupported: ['a', ''] })],
  ['resource.authorizationServers', object({ authorizationServers: [] })],
  ['resource.authorizationServers', object({ authorizationServers: 'https://id.example.com' })],
  ['resource.authorizationServers.0', object({ authorizationServers: [5] })],
  ...['id', 'http://id.example.com', 'https://id.example.com/?a', 'https://id.example.com/#'].map(
    (server): [string, object] => [
      'resource.authorizationServers.1',
      object({ authorizationServers: ['https://id.example.com', server] }),
    ],
  ),
  ...['documentation', 'policy', 'termsOfService'].flatMap((name): [string, object][] => [
    [`resource.${name}`, object({ [name]: 'http://docs.example.com' })],
    [`resource.${name}`, object({ [name]: 'javascript:alert(1)' })],
    [`resource.${name}`, object({ [name]: '' })],
  ]),
  [
    'resource.authorizationServers',
    { resource: identifier, basic: { username: 'a', password: 'b' } },
  ],
  ['resource.authorizationServers', withIssuer({ issuer: 'corp', jwksUri: 'https://a.example' })],
  ['issuers.corp.audience', { issuers }],
  ...[{ audience: undefined }, { audience: '' }, { audienceClaim: 'client_id' }].map(
    (more): [string, object] => ['issuers.corp.audience', withIssuer(more)],
  ),
  ['issuers.corp', { resource: identifier, issuers: { corp: 'https://id.example.com' } }],
]

t.test('startup fails for wrong options, and the error names the option', async (t) => {
  const all = [
    ...identifiers.flatMap((wrong): typeof rows => [
      ['resource', { resource: wrong, issuers }],
      ['resource.identifier', object({ identifier: wrong })],
    ]),
    ...rows,
  ]
  for (const [name, options, said = /expected|Set it/] of all) {
    const app = fastify(t)
    const error = await startupError(() => app.register(authn, options as AnyAuthnOptions).ready())
    const what = `${name}: ${JSON.stringify(options)}`
    t.equal(error?.code, 'ERR_AUTH_OPTION', what)
    if (said.source !== 'audience') t.match(error?.message, `option "${name}"`, what)
    t.match(error?.message, said, what)
    t.notMatch(error?.message, 'alice', 'credentials are not quoted')
  }
})

t.test('startup fails for two resources whose metadata would have one path', async (t) => {
  const pairs = [
    [identifier, identifier],
    [identifier, `${identifier}/`],
    [identifier, 'https://other.example.com/mcp'],
    ['https://api.example.com', 'https://api.example.com/'],
  ]
  for (const pair of pairs) {
    const app = fastify(t)
    for (const [index, resource] of pair.entries()) {
      void app.register(
        async (scope) => {
          await scope.register(authn, { resource, issuers })
        },
        { prefix: `/${index}` },
      )
    }
    const error = await startupError(() => app.ready())
    t.equal(error?.code, 'ERR_AUTH_OPTION', pair.join())
    for (const each of pair) t.match(error?.message, each)
  }
})

t.test('startup fails for a path that the app has taken, before or after the plugin', async (t) => {
  const taken: [path: string, resource: string, isLate: boolean, method?: 'OPTIONS'][] = [
    [`${wellKnown}/mcp`, identifier, false, 'OPTIONS'],
    [`${wellKnown}/mcp`, identifier, true, 'OPTIONS'],
    [wellKnown, identifier, true, 'OPTIONS'],
    [`${wellKnown}/mcp`, identifier, false],
    [`${wellKnown}/mcp`, identifier, true],
    [wellKnown, 'https://api.example.com', false],
    [wellKnown, 'https://api.example.com', true],
    [wellKnown, identifier, true],
  ]
  for (const [path, resource, isLate, method = 'GET'] of taken) {
    const app = fastify(t)
    const declare = () => app.route({ method, url: path, handler: () => 'mine' })
    const error = await startupError(async () => {
      if (!isLate) declare()
      await app.register(authn, { resource, issuers })
      declare()
      await app.ready()
    })
    const message = `option "resource": ${method} ${path} is already declared`
    t.match(error, { code: 'ERR_AUTH_OPTION', message }, `${path} of ${resource}`)
    const canMove = path === wellKnown && resource === identifier
    t.equal(error?.message.includes('declare it before'), canMove, `remedy of ${path}`)
  }
})
