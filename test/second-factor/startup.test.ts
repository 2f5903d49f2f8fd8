// Startup with the option `secondFactor`, and what API documents say of its routes.
import { generateKeyPairSync, randomBytes } from 'node:crypto'
import Fastify from 'fastify'
import t from 'tap'
import { authn, type AuthnOptions } from '../../lib/index.js'
import { secret } from '../helpers/app.js'
import { startupError } from '../helpers/flows.js'
import { base, everyOptionIsNamed, failureWith, needs } from '../helpers/options.js'
import { factorsOver, key } from '../helpers/second-factor.js'

const { update } = factorsOver([])
const good = { key, issuer: 'Shop', update }
const errorOf = failureWith('secondFactor')

const rsaKey = () =>
  generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey.export({
    type: 'pkcs8',
    format: 'pem',
  })
const hmac = (kid: string, state: string, secret: Buffer) => ({ kid, state, alg: 'HS256', secret })

const short = 'a-secret-of-31-bytes-is-short-!'
const bad: Record<string, unknown[]> = {
  key: [undefined, null, 7, '', short, [], [key, short], Array(6).fill(key), [7], {}],
  issuer: [undefined, null, '', ' ', 'Shop:1', 7],
  update: [undefined, null, true, {}],
  field: [null, '', 7],
  accountField: [null, '', 7],
  page: [
    null,
    7,
    '',
    'code',
    '//evil.example',
    '/code#',
    'https://evil.example/',
    'https://shop.example/',
  ],
  remember: [null, true, 3599, 7_776_001, 3600.5, '3600', Number.NaN],
  routeOptions: [null, true, 'hooks'],
}

t.test('startup fails for a wrong option, and the error names it', async (t) => {
  const more = { cookies: { trustedOrigins: ['https://pages.example'] } }
  const start = (given: object) => errorOf(t, given, more)
  await everyOptionIsNamed(t, 'secondFactor', start, good, bad, [short, key])
  for (const given of [null, true, 'on', [], () => good, { ...good, keys: [key] }])
    t.match(await errorOf(t, given), { code: 'ERR_AUTH_OPTION', message: /secondFactor/ })
})

t.test('startup fails where another option is missing, or a path is taken', async (t) => {
  await needs(t, 'secondFactor', (more) => errorOf(t, good, more))
  const remember = { ...good, remember: 3600 }
  t.match(await errorOf(t, remember), { code: 'ERR_AUTH_OPTION', message: /remember.*"cookies"/ })
  const corp = { issuer: 'https://id.example', clientId: 'shop', username: () => 1 }
  const both = { cookies: true, loginWith: { corp } }
  t.match(await errorOf(t, good, both), { code: 'ERR_AUTH_OPTION', message: /secondFactor.page/ })
  t.equal(await errorOf(t, { ...good, page: '/code' }, both), undefined)
  const taken = await errorOf(t, good, {}, '/second-factor/setup')
  t.match(taken, { code: 'ERR_AUTH_OPTION', message: /"secondFactor".*\/second-factor\/setup/ })
})

t.test('startup fails where the login of another scope would go around it', async (t) => {
  const other = { ...base, sessions: { name: 'other' } }
  const secondFactor = { ...good }
  const start = (more: object, isFirst: boolean) =>
    startupError(async () => {
      const app = Fastify()
      t.teardown(() => app.close())
      const all = [
        { ...base, secondFactor },
        { ...other, ...more },
      ] as AuthnOptions[]
      for (const [index, options] of (isFirst ? all : all.toReversed()).entries())
        app.register((scope) => scope.register(authn, options), { prefix: `/${index}` })
      await app.ready()
    })
  const message = /"secondFactor" is missing in the scope/
  for (const isFirst of [true, false]) {
    t.match(await start({}, isFirst), { code: 'ERR_AUTH_OPTION', message })
    t.match(await start({ sessions: undefined }, isFirst), { code: 'ERR_AUTH_OPTION', message })
    const fine = [{ secondFactor }, { login: false }, { jwt: { secret: `${secret}-of-others` } }]
    for (const more of fine) t.equal(await start(more, isFirst), undefined)
  }
})

t.test('in production, startup fails for a key that can be guessed', async (t) => {
  const before = process.env.NODE_ENV
  process.env.NODE_ENV = 'production'
  t.teardown(() =>
    before === undefined ? delete process.env.NODE_ENV : (process.env.NODE_ENV = before),
  )
  const jwt = { secret: 'a-secret-of-the-tests-of-32-bytes-!' }
  const error = await errorOf(t, { ...good, key: 'x'.repeat(40) }, { jwt })
  t.match(error, { code: 'ERR_AUTH_KEY', message: /secondFactor.key/ })
})

t.test('startup fails for a key that is one of the tokens, however it is written', async (t) => {
  const bytes = randomBytes(64)
  const text = bytes.toString('base64')
  const rows: [jwt: object, key: unknown][] = [
    [{ secret: text }, text],
    [{ secret: bytes }, text],
    [{ secret: text }, bytes],
    [{ secret: bytes.toString('base64url') }, bytes],
    [{ secret: bytes.toString('hex') }, bytes],
    [{ secret: bytes }, [key, bytes.toString('hex')]],
    [{ secret: text, rsa: { private: rsaKey() }, signingMethod: 'RS256' }, Buffer.from(text)],
    [{ keys: [hmac('a', 'sign', randomBytes(32)), hmac('b', 'next', bytes)] }, text],
  ]
  for (const [jwt, given] of rows) {
    const error = await errorOf(t, { ...good, key: given }, { jwt })
    t.match(error, { code: 'ERR_AUTH_OPTION', message: /"secondFactor.key".*"jwt"/ })
    t.notOk(error?.message.includes(text))
    t.equal(await errorOf(t, good, { jwt }), undefined)
  }
})

t.test('other forms of the options are accepted', async (t) => {
  const all = { ...good, key: [Buffer.alloc(32, key), key], field: 'totp', remember: 3600 }
  t.equal(await errorOf(t, all, { cookies: true }), undefined)
  t.equal(await errorOf(t, { ...good, key: Buffer.alloc(32, key) }), undefined)
  const cookies = { trustedOrigins: ['https://shop.example'] }
  t.equal(await errorOf(t, { ...good, page: 'https://shop.example/code' }, { cookies }), undefined)
})
