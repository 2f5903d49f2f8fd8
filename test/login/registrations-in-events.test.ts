// Two registrations of an app, whose users have the same ids: events tell them apart.
import Fastify, { type FastifyInstance } from 'fastify'
import t from 'tap'
import { memoryApiKeys } from '../../lib/api-keys/index.js'
import { authn, channels, type AuthnOptions } from '../../lib/index.js'
import { accountsOver, hash, newPassword, password } from '../helpers/accounts.js'
import { bearer } from '../helpers/app.js'
import { eventsOf } from '../helpers/sessions.js'

const email = 'alice@example.com'

function register(app: FastifyInstance, name: string, more: object = {}) {
  const { findByUsername, ...functions } = accountsOver([{ id: 1, email, password: hash }])
  const options = {
    userService: { findByUsername },
    jwt: { secret: 'a secret of the registration '.padEnd(40, name) },
    login: { usernameField: 'email', subject: (user: object) => (user as { id: number }).id },
    sessions: { name },
    hashing: { algorithm: 'bcrypt', cost: 4 },
    accounts: { url: `https://${name}.example`, ...functions, sendMail: () => undefined },
    apiKeys: { prefix: name, name, store: memoryApiKeys() },
    ...more,
  }
  return app.register(authn, options as unknown as AuthnOptions)
}

t.test('events name the registration, also where several have one prefix', async (t) => {
  const app = Fastify()
  t.teardown(() => app.close())
  const scopes: FastifyInstance[] = []
  for (const [name, prefix] of [
    ['shop', ''],
    ['staff', '/staff'],
    ['third', '/staff'],
  ] as const) {
    await app.register(
      async (scope) => {
        scopes.push(scope)
        const login = `/${name}/login`
        await register(scope, name, {
          login: {
            path: login,
            usernameField: 'email',
            subject: (user: object) => (user as { id: number }).id,
          },
        })
        scope.get(`/${name}/me`, { config: { auth: true } }, () => 'in')
      },
      { prefix },
    )
  }
  await app.ready()
  const names = scopes.map((scope) => scope.authn.registration)
  t.strictSame(names, ['/', '/staff', '/staff#2'])
  const routes = scopes.flatMap((scope) => scope.authn.routes())
  t.strictSame(new Set(routes.map(({ registration }) => registration)), new Set(names))
  const all = Object.fromEntries(
    (Object.keys(channels) as (keyof typeof channels)[]).map((name) => [name, eventsOf(t, name)]),
  ) as Record<string, { registration: string }[]>
  for (const [index, name] of ['shop', 'staff', 'third'].entries()) {
    const prefix = index === 0 ? '' : '/staff'
    for (const events of Object.values(all)) events.length = 0
    const post = async (url: string, payload: object, headers = {}) =>
      app.inject({ method: 'POST', url: `${prefix}/${name}${url}`, payload, headers })
    await post('/login', { email, password: 'wrong' })
    const { token, refreshToken } = (await post('/login', { email, password })).json<
      Record<string, string>
    >()
    await post('/login/refresh', { refreshToken })
    await app.inject({ url: `${prefix}/${name}/me`, headers: bearer(String(token)) })
    await app.inject({ url: `${prefix}/${name}/me`, headers: bearer('x') })
    const changed = { currentPassword: password, password: newPassword }
    await post('/password/change', changed, bearer(String(token)))
    const pair = (await post('/login', { email, password: newPassword })).json<{ token: string }>()
    await post('/logout', { everywhere: true }, bearer(pair.token))
    await scopes[index]?.authn.apiKeys.issue({ owner: 1, name: 'a', scopes: [], expiresAt: null })
    const seen = Object.entries(all).filter(([, events]) => events.length > 0)
    t.strictSame(
      seen.map(([each]) => each).toSorted(),
      ['account', 'apiKey', 'failure', 'login', 'logout', 'revoked', 'success'],
      name,
    )
    for (const [each, events] of seen)
      t.strictSame(
        new Set(events.map(({ registration }) => registration)),
        new Set([names[index]]),
        each,
      )
  }
})
