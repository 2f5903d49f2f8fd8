// program: docs
// An open static route at `/` beside protected files, as in docs/guides/other-plugins.md.
import path from 'node:path'
import fastifyStatic from '@fastify/static'
import t, { type Test } from 'tap'
import { appWith, basic } from '../helpers/app.js'

const account = { username: 'admin', password: 'open sesame' }
const files = (): Record<string, string> => ({ 'index.html': 'secret', 'report.html': 'secret' })

/** Statuses by URL: of anonymous requests, and of those with credentials. */
async function statuses(
  t: Test,
  [open, closed]: readonly [string, string],
  options: { wildcard?: boolean } = {},
): Promise<Record<string, [number, number]>> {
  const root = t.testdir({
    public: { 'index.html': 'open', admin: files() },
    open: { 'index.html': 'open' },
    admin: files(),
  })
  const app = await appWith(t, { basic: account }, (app) => {
    app.register(fastifyStatic, { root: path.join(root, open), prefix: '/', ...options })
    app.register(
      async (admin) => {
        admin.register(fastifyStatic, { root: path.join(root, closed), decorateReply: false })
      },
      { prefix: '/admin', auth: true },
    )
  })
  const headers = basic(account.username, account.password)
  const found: Record<string, [number, number]> = {}
  for (const url of ['/', '/admin', '/admin/', '/admin/report.html', '//admin/report.html']) {
    const [anonymous, user] = [await app.inject({ url }), await app.inject({ url, headers })]
    found[url] = [anonymous.statusCode, user.statusCode]
  }
  return found
}

t.test('files in a folder of their own are served to authenticated users only', async (t) => {
  for (const options of [{}, { wildcard: false }]) {
    const found = await statuses(t, ['open', 'admin'], options)
    t.match(found, {
      '/': [200, 200],
      '/admin': [404, 404],
      '/admin/': [401, 200],
      '/admin/report.html': [401, 200],
    })
    t.not(found['//admin/report.html']?.[0], 200)
  }
})

t.test('protected files inside the open folder can be fetched without a user', async (t) => {
  t.match(await statuses(t, ['public', 'public/admin']), {
    '/admin': [200, 200],
    '/admin/': [401, 200],
    '/admin/report.html': [401, 200],
  })
  t.match(await statuses(t, ['public', 'public/admin'], { wildcard: false }), {
    '/admin/': [200, 200],
    '/admin/report.html': [200, 200],
  })
})
