// Providers without ID tokens, and forms, beside what else an app has.
import formbody from '@fastify/formbody'
import swagger from '@fastify/swagger'
import Fastify from 'fastify'
import t from 'tap'
import { authn, type AuthnOptions } from '../../lib/index.js'
import { apple, github } from '../../lib/providers/index.js'
import { authnTesting, linkWith, logInWith } from '../../lib/testing/index.js'
import { standardOptions } from '../helpers/app.js'
import { tls } from '../helpers/cookies.js'
import { validated } from '../helpers/documents.js'
import { linkApp } from '../helpers/link-app.js'
import { jarOf, loginApp, oauth2Entry } from '../helpers/login-app.js'
import { startProvider } from '../helpers/provider.js'
import { claimsOf, eventsOf } from '../helpers/sessions.js'
import { usersApp } from '../helpers/users-app.js'

const keys = { clientId: 'a', clientSecret: 'b' }
const entries = { corp: github(keys), club: github({ ...keys, baseUrl: 'https://git.example' }) }
const type = 'application/x-www-form-urlencoded'

t.test('a user with a second factor is asked for it', async (t) => {
  const { app, provide, enable, me } = await usersApp(t, {}, { loginWith: entries })
  const first = await provide('7', { email: 'a@example.com', email_verified: true })
  t.equal(first.response.statusCode, 303)
  const { headers } = await enable(first.headers)
  t.equal(await me(headers), 200)
  const { response } = await logInWith(app, 'corp', { sub: '7' }, { returnTo: '/notes' })
  t.match(response, { statusCode: 303, headers: { location: /^\/code#/ } })
  t.notMatch(String(response.headers['set-cookie']), 'token')
})

t.test('a user with an account of one issuer is no other one of another issuer', async (t) => {
  const { provide, app } = await usersApp(t, {}, { loginWith: entries })
  const ids = []
  for (const name of ['corp', 'club'] as const) {
    const { headers } = await provide(
      '7',
      { email: 'a@example.com', email_verified: name === 'corp' },
      name,
    )
    ids.push((await app.inject({ url: '/me', headers })).json<{ id: string }>().id)
  }
  t.not(ids[0], ids[1])
  t.equal(
    (await provide('8', { email: 'A@example.com', email_verified: true }, 'club')).response
      .statusCode,
    409,
  )
})

t.test('a link needs a fresh session, and is listed and removed', async (t) => {
  const { create, enter, connect, send, app } = await usersApp(t, {}, { loginWith: entries })
  await create('dora@example.com')
  const headers = await enter('dora@example.com')
  t.equal((await connect(headers, '7')).response.statusCode, 303)
  const listed = await app.inject({ url: '/identities', headers })
  t.match(listed.json(), [
    { provider: 'corp', issuer: 'https://github.com/login/oauth', subject: '7' },
  ])
  await create('eve@example.com')
  const other = await linkWith(app, 'corp', { sub: 7 }, { headers: await enter('eve@example.com') })
  t.equal(other.response.statusCode, 409, 'of another user')
  t.equal(
    await send('/identities/remove', { issuer: entries.corp.issuer, subject: '7' }, headers),
    '204',
  )
})

t.test('in a session of the same user, a login replaces it, and counts as fresh', async (t) => {
  const provider = await startProvider(t)
  const loginWith = { corp: oauth2Entry(provider, {}, { link: () => true }) }
  const { logIn, get, finish, app } = await linkApp(t, provider, {}, { loginWith })
  const session = jarOf(await logIn())
  const response = await get('/login/corp', session)
  const begun = {
    response,
    sent: new URLSearchParams(),
    callback: provider.visit(new URL(String(response.headers.location))),
    cookie: `${session}; ${jarOf(response)}`,
  }
  const again = await finish(begun)
  t.equal(again.statusCode, 303)
  const [, token = ''] = /-token=([^;]+)/.exec(String(again.headers['set-cookie'])) ?? []
  t.ok(Number(claimsOf(token).auth_time) > 0)
  t.equal((await app.authn.sessions.list('alice')).length, 1, 'it was replaced')
})

t.test(
  'the routes of forms fit marks, scopes, prefixes, documents and other parsers',
  async (t) => {
    const failures = eventsOf(t, 'failure')
    const provider = await startProvider(t)
    const app = Fastify()
    t.teardown(() => app.close())
    await app.register(formbody)
    await app.register(swagger, { openapi: {} })
    await app.register(authnTesting)
    const { userService } = standardOptions()
    const corp = oauth2Entry(provider, {}, { responseMode: 'form_post' })
    for (const prefix of ['/one', '/two'])
      await app.register(
        async (scope) => {
          const options = {
            ...standardOptions(),
            userService,
            auth: true,
            requireMarks: true,
            sessions: { name: prefix.slice(1) },
            cookies: { sameSite: 'strict', name: prefix.slice(1) },
            loginWith: { corp },
          }
          await scope.register(authn, options as unknown as AuthnOptions)
          scope.get('/me', ({ user }) => user)
          scope.post('/form', { config: { auth: false } }, ({ body }) => body)
        },
        { prefix },
      )
    await app.ready()
    for (const prefix of ['/one', '/two']) {
      const url = `${prefix}/login/corp/callback`
      const post = (payload: string, headers: object = {}) =>
        app.inject({
          method: 'POST',
          url,
          payload,
          headers: { ...tls, 'content-type': type, ...headers },
        })
      t.equal((await post('state=a')).headers.location, `${url}?state=a`)
      t.equal((await post('state=a', { 'content-type': `${type}; charset=UTF-8` })).statusCode, 303)
      t.equal(
        (await post('state=a', { authorization: 'Bearer a.b.c', cookie: 'a=b' })).statusCode,
        303,
      )
      const strange = (await post('state=a&state=b')).statusCode
      t.equal(strange, 401)
      const form = await app.inject({
        method: 'POST',
        url: `${prefix}/form`,
        payload: 'a=b',
        headers: { 'content-type': type },
      })
      t.strictSame(form.json(), { a: 'b' })
    }
    t.match(failures.at(-1), {
      code: 'ERR_AUTH_LOGIN_INVALID',
      provider: 'corp',
      registration: '/two',
    })
    const { result, specification } = await validated(app.swagger())
    t.match(result, { valid: true })
    const document = specification as { paths: Record<string, object> }
    t.strictSame(
      Object.keys(document.paths).filter((each) => each.includes('callback')),
      [],
    )
    const start = JSON.stringify(document.paths['/one/login/corp'])
    t.match(start, 'returnTo')
    t.notMatch(start, 'max_age')
    const open = app.authn
    t.ok(open === undefined || true)
  },
)

t.test('made-up callbacks are counted, and forms are not', async (t) => {
  const provider = await startProvider(t)
  const corp = oauth2Entry(provider, {}, { responseMode: 'form_post' })
  const options = { loginWith: { corp }, throttle: { perAddress: 2 } }
  const { app, begin, finish } = await loginApp(t, provider, {}, options)
  const headers = { ...tls, 'content-type': type }
  for (let at = 0; at < 20; at += 1) {
    const sent = { method: 'POST', url: '/login/corp/callback', headers } as const
    t.equal((await app.inject({ ...sent, payload: 'state=a&code=b' })).statusCode, 303)
  }
  const statuses = []
  for (let at = 0; at < 4; at += 1)
    statuses.push((await finish(await begin(), (sent) => sent.set('code', 'made up'))).statusCode)
  t.strictSame(statuses, [401, 401, 429, 429])
})

t.test('an entry of Apple is one of several in an app, with its own cookie', async (t) => {
  const { generateKeyPairSync } = await import('node:crypto')
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const pem = String(privateKey.export({ type: 'pkcs8', format: 'pem' }))
  const club = apple({ clientId: 'a', teamId: 'T', keyId: 'K', privateKey: pem })
  const { provide } = await usersApp(t, {}, { loginWith: { corp: entries.corp, club } })
  for (const name of ['corp', 'club'] as const)
    t.equal((await provide('7', {}, name)).response.statusCode, 303)
})
