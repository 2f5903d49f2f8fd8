import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import os from 'node:os'
import path from 'node:path'
import Fastify, { type FastifyInstance } from 'fastify'
import t, { type Test } from 'tap'
import { authn, JwtService, type AuthnOptions } from '../../lib/index.js'
import { authAttacks, mintToken } from '../../lib/testing/index.js'
import { appWith, bearer, logLines, passwords, userService, type TestApp } from '../helpers/app.js'
import { rejectionOf } from '../helpers/errors.js'
import { until } from '../helpers/load.js'
import { entries, headerOf, publicHalf, keySetSecret } from '../helpers/key-sets.js'
import type { KeyEntry } from '../../types/keys.js'

const { a, b, rsa, edwards, old } = entries

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

t.test('there is a secret for each purpose and key, but for public and expired ones', async (t) => {
  const expired = { ...b, state: 'verify', until: '2020-01-01T00:00:00Z' } as const
  const retired = { ...edwards, state: 'verify' } as const
  const secretsOf = async (keys: KeyEntry[], purpose = 'a'): Promise<string[]> => {
    const service = await new JwtService({ keys }).load()
    return service.secretsFor(purpose, undefined).map((each) => each.toString('hex'))
  }
  const both = await secretsOf([a, retired, publicHalf(rsa), expired])
  t.strictSame([await secretsOf([a, retired]), await secretsOf([a])], [both, both.slice(0, 1)])
  t.equal(new Set([...both, ...(await secretsOf([a], 'b'))]).size, 3)
})
