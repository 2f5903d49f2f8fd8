import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import os from 'node:os'
import path from 'node:path'
import Fastify, { type FastifyInstance } from 'fastify'
import t, { type Test } from 'tap'
import { authn, JwtService, type AuthnOptions } from '../../lib/index.js'
import { publicJwk, thumbprintOf } from '../../lib/tokens/keys/key.js'
import { authAttacks, mintToken } from '../../lib/testing/index.js'
import { appWith, bearer, logLines, passwords, userService, type TestApp } from '../helpers/app.js'
import { rejectionOf } from '../helpers/errors.js'
import { methodCases, moreKeys } from '../helpers/keys.js'
import { until } from '../helpers/load.js'
import { entries, headerOf, publicHalf, keySetSecret } from '../helpers/key-sets.js'
import { privatePem, publicPem } from '../helpers/tokens.js'
import type { KeyEntry } from '../../types/keys.js'

const { a, b, rsa, edwards, old } = entries
const wellKnown = '/.well-known/jwks.json'

/** A key set file in a folder of its own. */
async function keySetFile(t: Test, list: readonly KeyEntry[]) {
  const folder = await mkdtemp(path.join(os.tmpdir(), 'authn-keys-'))
  t.teardown(() => rm(folder, { recursive: true }))
  const file = path.join(folder, 'keys.json')
  const write = (given: readonly KeyEntry[] | string): Promise<void> =>
    writeFile(file, typeof given === 'string' ? given : JSON.stringify(given))
  await write(list)
  return { file, write }
}

function declare(app: TestApp): void {
  app.get('/me', { config: { auth: true } }, ({ user }) => user)
}

const options = (jwt: AuthnOptions['jwt'], login?: false): AuthnOptions => ({
  userService: userService(),
  jwt,
  login,
})

async function statusOf(app: FastifyInstance, token: string, url = '/me'): Promise<number> {
  return (await app.inject({ url, headers: bearer(token) })).statusCode
}

async function login(app: FastifyInstance): Promise<string> {
  const payload = { username: 'alice', password: passwords.alice }
  const reply = await app.inject({ method: 'POST', url: '/login', payload })
  return (reply.json() as { token: string }).token
}

t.test('reloadEvery reads the file, logs an invalid one once, and stops at close', async (t) => {
  const { file, write } = await keySetFile(t, [a])
  const log = logLines()
  const app = await appWith(t, options({ keys: file, reloadEvery: 0.1 }), declare, {
    logger: { stream: log.stream },
  })
  await until(() => app.authn.stats().keys.reloads > 1, 'it was read again')
  const token = await login(app)
  await write(`[{"secret": "${keySetSecret}", oops`)
  await until(() => app.authn.stats().keys.failures > 2, 'it was bad three times')
  t.equal(await statusOf(app, token), 200)
  const errors = log.lines.filter(({ level }) => level === 50)
  t.equal(errors.length, 1, 'reported once a minute')
  t.match(errors[0], { msg: /the keys could not be read again/, err: { code: 'ERR_AUTH_OPTION' } })
  t.notMatch(JSON.stringify(log.lines), keySetSecret)
  await write([{ ...b, state: 'sign' }])
  await until(async () => (await statusOf(app, token)) === 401, 'the new key set counts')
  t.equal(headerOf(await login(app)).kid, 'b')
  await app.close()
  const { reloads } = app.authn.stats().keys
  await new Promise((resolve) => setTimeout(resolve, 60))
  t.ok(app.authn.stats().keys.reloads <= reloads + 1, 'one may have been on its way')
})

t.test('reloadEvery does not keep a process alive, and close() stops it', async (t) => {
  const { file } = await keySetFile(t, [a])
  const service = await new JwtService({ keys: file, reloadEvery: 0.01 }).load()
  await until(() => service.stats().keys.reloads > 0, 'it was read again')
  const found = process.getActiveResourcesInfo().filter((name) => name === 'Timeout')
  t.strictSame(found, [])
  service.close()
  const early = new JwtService({ keys: file, reloadEvery: 0.01 })
  early.close()
  await early.load()
  const { reloads } = early.stats().keys
  await new Promise((resolve) => setTimeout(resolve, 30))
  t.equal(early.stats().keys.reloads, reloads)
})

/** What is no token does not depend on the keys. */
const except = [/^Authorization: /]

t.test('every attack is rejected, whichever key signs, and where keys only verify', async (t) => {
  const others = [b, { ...edwards, state: 'next' } as const]
  const signers = [a, { ...old, state: 'sign', legacy: false } as const, rsa]
  const issuer = await appWith(t, options({ keys: [a] }))
  const rows: [AuthnOptions, object][] = signers.map((signer) => [
    options({ keys: [signer, ...others] }),
    { sub: 'alice' },
  ])
  const good = `Bearer ${mintToken(issuer, { sub: 'alice' })}`
  rows.push([options({ keys: [publicHalf(rsa), publicHalf(a), b] }, false), { good }])
  for (const [given, attack] of rows) {
    const app = await appWith(t, given, declare)
    const report = await authAttacks(app, { url: '/me', except, ...attack })
    t.strictSame(report.problems, [], String(report))
    t.ok(report.cases > 10, `${report.cases} cases`)
    if ('good' in attack) t.notOk(report.leftOut.some((each) => each.startsWith('confused')))
  }
})

t.test('a reload without a signing key fails if a login or sessions need one', async (t) => {
  for (const [title, more, isKept] of [
    ['login', {}, true],
    ['sessions alone', { login: false, sessions: true }, true],
    ['tokens of the app', { login: { tokenFunc: () => 'x' } }, false],
    ['nothing', { login: false }, false],
  ] as const) {
    let keys: unknown[] = [a]
    const fs = { readFile: async () => JSON.stringify(keys) }
    const service = new JwtService({ keys: 'keys.json', reloadEvery: 0 }, { fs })
    await appWith(t, { userService: userService(), jwtService: service, ...more })
    keys = [publicHalf(a)]
    if (isKept) await t.rejects(service.reload(), { code: 'ERR_AUTH_KEY' }, title)
    else await service.reload()
    t.equal(service.canSign(), isKept, title)
  }
})

t.test('invalid key sets and combinations make startup fail', async (t) => {
  const cases: [AuthnOptions, RegExp][] = [
    [{ jwt: { keys: [a], secret: keySetSecret } }, /"jwt\.keys": found beside jwt\.secret/],
    [{ jwt: { keys: [a], rsa: { public: 'x.pem' } } }, /"jwt\.keys": found beside jwt\.rsa/],
    [{ jwt: { keys: [] } }, /"jwt\.keys": expected an array/],
    [{ jwt: { keys: [a, rsa] } }, /"jwt\.signingMethod": is missing/],
    [{ jwt: { keys: [publicHalf(a)] } }, /no key with the state sign.*login: false/],
    [{ jwt: { keys: [publicHalf(a)] }, login: {} }, /no key with the state sign/],
    [{ jwt: { keys: [publicHalf(a)] }, login: false, sessions: true }, /sign.*"sessions"/],
    [{ jwt: { keys: [a] }, login: { signingMethod: 'RS256' } }, /state sign for RS256/],
    [{ jwt: { keys: [a], reloadEvery: -1 } }, /"jwt\.reloadEvery": found -1, expected seconds, 0/],
    [{ jwt: { secret: keySetSecret, reloadEvery: 5 } }, /"jwt\.reloadEvery": it is for a key set/],
    [{ jwt: { secret: keySetSecret, publish: true } }, /"jwt\.publish": it is for a key set/],
    [{ jwt: { keys: [{ ...old, state: 'sign' }], publish: true } }, /"jwt\.publish".*are secrets/],
    [{ jwt: { keys: [a], publish: 'jwks.json' } }, /"jwt\.publish": found "jwks\.json", expected/],
    [{ jwt: { keys: [a], publish: '/:kid' } }, /"jwt\.publish": found "\/:kid"/],
    [
      { jwt: { keys: [(() => 1) as never] } },
      /"jwt\.keys\[0\]": found a function, expected an object/,
    ],
  ]
  for (const [given, message] of cases) {
    const app = Fastify()
    const error = await rejectionOf(app.register(authn, { userService: userService(), ...given }))
    t.match(error.message, message)
    t.match(error.code, /^ERR_AUTH_(?:KEY|OPTION)$/)
    await app.close()
  }
})

/** Everything that may be published of a key. */
const members = new Set(['kty', 'kid', 'alg', 'use', 'n', 'e', 'crv', 'x', 'y'])

t.test('publish serves the public keys of pairs, and no secrets', async (t) => {
  const pairs = methodCases.filter(
    ({ pair, method }) => pair !== null && !/^[RP]S(?:384|512)|PS/.test(method),
  )
  const list = pairs.map(({ pair, method }, at): KeyEntry => ({
    alg: method,
    private: privatePem(pair?.privateKey as never),
    state: at % 2 === 0 ? 'next' : 'verify',
  }))
  const expired = { ...b, state: 'verify', until: '2020-01-01T00:00:00Z' } as const
  const far = { ...publicHalf(rsa), kid: 'far', until: '2120-01-01T00:00:00Z' }
  const other = { ...far, public: publicPem(moreKeys.otherRsa.publicKey) }
  const jwt = { keys: [...list, expired, other, { ...old, state: 'sign' }], publish: true } as const
  const app = await appWith(t, { ...options(jwt), auth: true, requireMarks: true })
  const reply = await app.inject(wellKnown)
  t.equal(reply.statusCode, 200)
  t.match(reply.headers, {
    'content-type': /^application\/jwk-set\+json$/,
    'cache-control': 'public, max-age=300',
    etag: /^(?:W\/)?"[^"]+"$/,
  })
  const { keys: published } = reply.json() as { keys: Record<string, string>[] }
  t.strictSame(
    published.map(({ alg }) => alg),
    [...pairs.map(({ method }) => method), 'RS256'],
  )
  for (const jwk of published) {
    const surplus = Object.keys(jwk).filter((name) => !members.has(name))
    t.strictSame([surplus, jwk.use], [[], 'sig'], String(jwk.kid))
    t.not(jwk.kty, 'oct')
  }
  const pem = publicPem(pairs[0]?.pair?.publicKey as never)
  t.equal(published[0]?.kid, thumbprintOf(publicJwk(pem)))
  for (const secret of [keySetSecret, Buffer.from(keySetSecret).toString('base64url')]) {
    t.notMatch(reply.body, secret)
  }
})

t.test('the key set answers If-None-Match with 304 until its keys change', async (t) => {
  const { file, write } = await keySetFile(t, [a, b])
  const app = await appWith(t, options({ keys: file, publish: '/keys.json' }))
  const get = (condition?: string, method: 'GET' | 'HEAD' = 'GET') => {
    const headers = condition === undefined ? {} : { 'if-none-match': condition }
    return app.inject({ method, url: '/keys.json', headers })
  }
  const first = await get()
  const etag = String(first.headers.etag)
  const opaque = etag.replace(/^W\//, '')
  for (const known of [etag, opaque, `W/${opaque}`, '*', ` "x", W/${opaque} ,"y"`]) {
    for (const method of ['GET', 'HEAD'] as const) {
      const { statusCode, body, headers } = await get(known, method)
      const found = [statusCode, body, headers.etag, headers['cache-control']]
      t.strictSame(found, [304, '', etag, 'public, max-age=300'], known)
    }
  }
  for (const unknown of ['"x"', opaque.replaceAll('"', ''), '', 'W/"*"', `"${etag.slice(1, 9)}"`]) {
    t.equal((await get(unknown)).statusCode, 200, unknown)
  }
  const head = await get(undefined, 'HEAD')
  t.strictSame([head.statusCode, head.body, head.headers.etag], [200, '', etag])
  t.equal(head.headers['content-length'], String(Buffer.byteLength(first.body)))
  t.equal((await app.inject({ method: 'POST', url: '/keys.json' })).statusCode, 404)
  t.equal((await app.inject(wellKnown)).statusCode, 404)
  await write([
    { ...a, state: 'verify' },
    { ...b, state: 'sign' },
  ])
  await app.jwtService.reload()
  t.equal((await get(etag)).statusCode, 304, 'a rotation alone changes nothing of the keys')
  await write([{ ...b, state: 'sign' }])
  await app.jwtService.reload()
  const later = await get(etag)
  t.equal(later.statusCode, 200)
  t.not(later.headers.etag, etag)
})

/** Registers the plugin below a prefix. */
async function below(app: FastifyInstance, prefix: string, given: AuthnOptions): Promise<void> {
  await app.register(
    async (scope) => {
      await scope.register(authn, given)
      scope.get('/me', () => 'in')
    },
    { prefix },
  )
}

const otherKeys = [{ ...b, state: 'sign' }] as const

t.test('the key set is published at the root, whatever the prefix', async (t) => {
  const app = Fastify({ exposeHeadRoutes: false })
  t.teardown(() => app.close())
  app.addHook('onRoute', () => undefined)
  await below(app, '/api', { ...options({ keys: [a], publish: true }), auth: true })
  await below(app, '/b', options({ keys: otherKeys, publish: '/b.json' }))
  await app.ready()
  const statusOf = async (url: string, method: 'GET' | 'HEAD' = 'GET'): Promise<number> =>
    (await app.inject({ method, url })).statusCode
  t.strictSame([await statusOf(wellKnown), await statusOf(wellKnown, 'HEAD')], [200, 200])
  t.strictSame([await statusOf('/b.json'), await statusOf('/api/me')], [200, 401])
  t.equal(await statusOf(`/api${wellKnown}`), 404)
})

t.test('startup fails if the path of the key set is taken', async (t) => {
  const owners: ((app: FastifyInstance) => unknown)[] = [
    (app: FastifyInstance) => app.get(wellKnown, () => 'mine'),
    (app: FastifyInstance) => app.register(authn, options({ keys: [a], publish: true })),
  ]
  for (const declare of owners) {
    const app = Fastify()
    t.teardown(() => app.close())
    await declare(app)
    const second = below(app, '/b', options({ keys: otherKeys, publish: true }))
    const { code, message } = await rejectionOf(second)
    t.equal(code, 'ERR_AUTH_OPTION')
    t.match(message, /"jwt\.publish": GET \/\.well-known\/jwks\.json is already declared/)
  }
})

t.test('registrations publish one service once, and of one scope the last keys', async (t) => {
  const jwtService = new JwtService({ keys: [a], publish: true })
  const shared = { userService: userService(), jwtService }
  const app = Fastify()
  t.teardown(() => app.close())
  await app.register(authn, shared)
  await below(app, '/b', shared)
  t.match((await app.inject(wellKnown)).json(), { keys: [{ kid: 'a' }] })

  const [twice, last] = [Fastify(), options({ keys: otherKeys, publish: true })]
  t.teardown(() => twice.close())
  await twice.register(authn, options({ keys: [a], publish: true }))
  await twice.register(authn, last)
  t.match((await twice.inject(wellKnown)).json(), { keys: [{ kid: 'b' }] })
})
