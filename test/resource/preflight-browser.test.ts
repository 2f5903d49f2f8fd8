// program: its own, in npm run test:all
// MCP clients in browsers send a header that needs a preflight.
import Fastify from 'fastify'
import t from 'tap'
import { authn } from '../../lib/index.js'
import { openPage } from '../helpers/browser.js'
import { listen } from '../helpers/flows.js'
import { findProgram, unlessFound } from '../helpers/programs.js'

t.test(
  'a page of any origin reads the metadata, with MCP-Protocol-Version',
  { skip: unlessFound('Chromium') },
  async (t) => {
    const seen: string[] = []
    const app = Fastify()
    const site = Fastify()
    t.teardown(() => Promise.all([app.close(), site.close()]))
    app.addHook('onRequest', async ({ method, headers }) => {
      seen.push(`${method} ${String(headers['mcp-protocol-version'] ?? '')}`.trim())
    })
    const authorizationServers = ['https://id.example.com']
    const resource = { identifier: 'https://api.example.com/mcp', authorizationServers }
    await app.register(authn, { resource, auth: true })
    site.get('/', (_, reply) => reply.type('text/html').send('<!doctype html><title>x</title>'))
    const url = `http://127.0.0.1:${await listen(app)}/.well-known/oauth-protected-resource/mcp`
    const { page } = await openPage(t, findProgram('Chromium') ?? '', 'en')
    await page.goto(`http://127.0.0.1:${await listen(site)}/`)
    const read = `fetch('${url}', { headers: { 'MCP-Protocol-Version': '2026-07-28' } }).then((r) => r.json())`
    t.match(await page.evaluate(read), { resource: resource.identifier })
    t.strictSame(seen, ['OPTIONS', 'GET 2026-07-28'])
  },
)
