// The samples of the pages about identity providers, with tokens as these providers issue them.
import { runInThisContext } from 'node:vm'
import t, { type Test } from 'tap'
import type { AuthnOptions } from '../../lib/index.js'
import { mintToken } from '../../lib/testing/index.js'
import { appWith, bearer, type TestApp } from '../helpers/app.js'
import { blocksOf, readPage } from '../helpers/readme.js'

const users = { findByUsername: async (name: unknown) => ({ name, id: 1 }) }

/** Runs the sample of a page that registers the plugin, with the keys of the test kit. */
async function appOf(t: Test, page: string): Promise<TestApp> {
  const blocks = blocksOf(readPage(`docs/guides/${page}.md`))
  const { text = '' } = blocks.find((block) => block.text.includes('issuers: {')) ?? {}
  const routes: [string, object, () => unknown][] = []
  let given: AuthnOptions = {}
  const app = {
    register: async (_plugin: unknown, options: AuthnOptions) => (given = options),
    get: (...route: [string, object, () => unknown]) => routes.push(route),
  }
  const code = text.replace(/^import .*$/gm, '')
  const run = runInThisContext(`(async (app, authn, users) => { ${code} })`) as (
    ...values: unknown[]
  ) => Promise<void>
  await run(app, null, users)
  // Nothing is fetched from the real provider.
  const jwksUri = 'http://127.0.0.1:9/keys'
  const issuers = Object.entries(given.issuers ?? {}).map(([name, issuer]) => [
    name,
    { ...issuer, jwksUri },
  ])
  return appWith(t, { ...given, issuers: Object.fromEntries(issuers) }, (app) => {
    for (const [url, options, handler] of routes) app.get(url, options, handler)
  })
}

const keycloak = { azp: 'shop', scope: 'openid notes:read', typ: 'Bearer' }
const realm = (...roles: string[]) => ({ realm_access: { roles: ['offline_access', ...roles] } })
const client = (id: string, ...roles: string[]) => ({ resource_access: { [id]: { roles } } })

/** The page, the name of its issuer, claims, and the routes that they open and that they do not. */
const rows: [
  page: string,
  use: string,
  claims: Readonly<Record<string, unknown>>,
  open: string[],
  closed: string[],
][] = [
  ['issuer-keycloak', 'keycloak', { ...keycloak, ...realm() }, ['/notes'], ['/desk']],
  ['issuer-keycloak', 'keycloak', realm('editor'), ['/desk'], ['/notes']],
  ['issuer-keycloak', 'keycloak', client('notes-api', 'editor'), ['/desk'], ['/notes']],
  ['issuer-keycloak', 'keycloak', client('shop', 'editor'), [], ['/desk', '/notes']],
  ['issuer-auth0', 'auth0', { scope: 'openid read:patients' }, ['/patients'], []],
  ['issuer-auth0', 'auth0', { scope: 'openid', permissions: ['read:patients'] }, ['/patients'], []],
  ['issuer-auth0', 'auth0', { permissions: [], roles: ['read:patients'] }, [], ['/patients']],
  ['issuer-entra', 'entra', { oid: 'x', scp: 'Notes.Read', ver: '2.0' }, ['/notes'], ['/all']],
  ['issuer-entra', 'entra', { oid: 'x', roles: ['Notes.Read.All'] }, ['/all'], ['/notes']],
  ['issuer-cognito', 'cognito', { scope: 'notes/read' }, ['/notes'], ['/desk']],
  ['issuer-cognito', 'cognito', { 'cognito:groups': ['editors'] }, ['/desk'], ['/notes']],
  ['coming-from-keycloak-connect', 'keycloak', keycloak, ['/me'], ['/desk', '/admin']],
  ['coming-from-keycloak-connect', 'keycloak', realm('admin'), ['/me', '/admin'], ['/desk']],
  [
    'coming-from-keycloak-connect',
    'keycloak',
    client('app', 'editor'),
    ['/me', '/desk'],
    ['/admin'],
  ],
]

t.test('the samples grant what the claims of their provider say', async (t) => {
  for (const [page, issuer, claims, open, closed] of rows) {
    const app = await appOf(t, page)
    const headers = bearer(mintToken(app, { issuer, sub: 'alice', claims }))
    const title = `${page} ${JSON.stringify(claims)}`
    for (const url of open) t.equal((await app.inject({ url, headers })).statusCode, 200, title)
    for (const url of closed) t.equal((await app.inject({ url, headers })).statusCode, 403, title)
    for (const url of [...open, ...closed]) t.equal((await app.inject(url)).statusCode, 401, title)
  }
})
