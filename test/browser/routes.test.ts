// The client takes the session of the responses that have one, whichever feature's route they are of.
import t from 'tap'
import { recordOf } from '../../lib/app/record.js'
import { createSession } from '../../lib/browser/index.js'
import { pluginRouteOf } from '../../lib/http/plugin-route.js'
import { replaceGlobals, url } from '../helpers/browser-session.js'
import { wholeApp } from '../helpers/whole-app.js'

/** A refresh is no route of `post`. */
const refresh = '/login/refresh'
const answer = { token: 'a', refreshToken: 'b', expiresIn: 60 }

t.test('after a route that gives tokens the user is logged in, and after no other', async (t) => {
  const { app } = await wholeApp(t, { mailLogin: true })
  const routes = recordOf(app)
    .routes.flatMap(({ options }) => pluginRouteOf(options) ?? [])
    .filter(({ method, path }) => method === 'POST' && path !== refresh)
  t.ok(routes.filter(({ givesTokens }) => givesTokens).length > 6)
  for (const { path, givesTokens = false, notes, kind } of routes) {
    const [status = 200] = Object.keys(notes?.responses ?? {}).map(Number)
    const body = status === 204 ? null : JSON.stringify(answer)
    replaceGlobals(t, { fetch: { value: async () => new Response(body, { status }) } })
    const session = createSession({ url, tokens: { get: () => null, set: () => undefined } })
    const result = await session.post(path.slice(1) as 'sign-up', { email: '' })
    t.match(result, { ok: true, status }, path)
    t.equal(session.loggedIn, givesTokens, `${path}: ${kind}`)
    session.close()
  }
})
