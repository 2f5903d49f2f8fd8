// program: small
// What events call the routes of the plugin.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { bearer } from './helpers/app.js'
import { everyFeature } from './helpers/every-feature.js'
import { root } from './helpers/project.js'
import { eventsOf } from './helpers/sessions.js'

/** The names in the list of the page, without the one for requests to routes of the app. */
const page = readFileSync(join(root, 'docs/reference/events.md'), 'utf8')
const [, list = ''] =
  /\n- `authenticator` is[^]*?((?:`[\w-]+`(?:, | or )?)+) for the routes of the plugin/.exec(
    page,
  ) ?? []
const documented = [...list.matchAll(/`([\w-]+)`/g)].map(([, name]) => name)

t.test('requests of other sites are reported under a documented name, at each route', async (t) => {
  t.equal(documented.length, 7)
  const app = await everyFeature(t)
  const failures = eventsOf(t, 'failure')
  const posts = app.authn.routes().filter(({ methods }) => methods.includes('POST'))
  t.ok(posts.length > 20)
  const token = app.jwtService.generateToken(1)
  const headers = { 'sec-fetch-site': 'cross-site', origin: 'https://evil.example' }
  for (const { url } of posts) {
    for (const more of [{}, bearer(token), { cookie: `__Host-token=${token}` }]) {
      failures.length = 0
      const all = { ...headers, ...more, 'content-type': 'application/json' }
      const response = await app.inject({ method: 'POST', url, headers: all, payload: '[]' })
      t.ok(response.statusCode < 500, url)
      for (const { authenticator, accepts, registration } of failures) {
        const names = accepts.length > 0 ? accepts : documented
        t.ok(names.includes(authenticator), `${url}: ${authenticator}`)
        t.equal(registration, '/')
      }
    }
    const all = { ...headers, cookie: '__Host-token=a' }
    failures.length = 0
    await app.inject({ method: 'POST', url, headers: all })
    t.match(failures, [{ code: 'ERR_AUTH_CROSS_SITE' }], url)
  }
})
