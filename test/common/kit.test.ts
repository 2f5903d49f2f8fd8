// Also holds lib/testing/error.ts, lib/testing/plugin.ts and lib/testing/index.ts.
// In a process that has not loaded fastify-authn/testing: nothing here may import it before a test does.
import t from 'tap'
import { JwtService, type Authenticator } from '../../lib/index.js'
import { kit } from '../../lib/common/kit.js'
import type { Tree } from '../../lib/app/tree.js'
import type { Registration } from '../../lib/registration.js'
import { appWith, bearer, secret, standardOptions } from '../helpers/app.js'

/** The symbols that anybody can have by their name, of an object and of what it inherits from. */
function globalSymbols(object: object): symbol[] {
  const own = Object.getOwnPropertySymbols(object).filter((symbol) => Symbol.keyFor(symbol))
  const outer = Object.getPrototypeOf(object) as object | null
  return outer === null ? own : [...own, ...globalSymbols(outer)]
}

/** Whether a text can be reached from a value by properties. */
function leads(value: unknown, text: string, seen = new Set<unknown>()): boolean {
  if (typeof value === 'string') return value.includes(text)
  if (Buffer.isBuffer(value)) return value.includes(text)
  if (typeof value !== 'object' || value === null || seen.has(value)) return false
  seen.add(value)
  const members = Object.values(Object.getOwnPropertyDescriptors(value))
  return members.some((member) => leads(member.value, text, seen))
}

t.test('no symbol leads to a key', async (t) => {
  const app = await appWith(t, standardOptions())
  const service = new JwtService({ secret })
  t.ok(leads({ a: [{ b: secret }] }, secret), 'it would be found')
  for (const object of [app, service, app.jwtService, globalThis]) {
    for (const symbol of globalSymbols(object)) {
      const value: unknown = Reflect.get(object, symbol)
      t.notOk(leads(value, secret), String(symbol))
      if (object !== app) t.not(typeof value, 'function', String(symbol))
    }
  }
})

t.test('no symbol leads to the password of the configuration', async (t) => {
  const password = 'password of the configuration'
  const app = await appWith(t, { basic: { username: 'admin', password } }, (app) => {
    app.get('/', { config: { auth: true } }, () => 'in')
  })
  const symbols = globalSymbols(app)
  t.ok(symbols.includes(Symbol.for('fastify-authn.registration')), 'there is one to follow')
  for (const symbol of symbols) t.notOk(leads(Reflect.get(app, symbol), password), String(symbol))
  const authorization = `Basic ${btoa(`admin:${password}`)}`
  t.equal((await app.inject({ url: '/', headers: { authorization } })).body, 'in')
})

t.test('no symbol leads to the authenticators of an app that is ready', async (t) => {
  const app = await appWith(t, standardOptions(), (app) => {
    app.get('/any', { config: { auth: { use: ['jwt', 'basic'] } } }, () => t.fail('it ran'))
    app.get('/', { config: { auth: true } }, () => t.fail('it ran'))
  })
  await app.ready()
  const { [Symbol.for('fastify-authn.registration')]: registration } = app as never as {
    [symbol: symbol]: Registration
  }
  const { [Symbol.for('fastify-authn.tree')]: tree } = app as never as { [symbol: symbol]: Tree }
  if (registration === undefined || tree === undefined) throw new Error('nothing to follow')
  const plans = [true, { use: ['jwt', 'basic'] }].map((mark) => registration.plan(mark, ''))
  const judges = [
    ...plans.flatMap(({ authenticator, members }) => [authenticator, ...members]),
    ...registration.authenticators.values(),
  ]
  const open = { authenticate: () => ({ name: 'nobody' }) }
  const asOpen = { ...open, authenticator: open, standard: open, plan: () => null }
  for (const object of [...plans, ...judges, registration, tree.decisions]) {
    for (const [name, value] of Object.entries({ ...asOpen, get: () => ({ plan: null }) })) {
      Reflect.set(object, name, value)
    }
  }
  const { authenticators } = registration
  for (const name of authenticators.keys()) (authenticators as Map<string, object>).set(name, open)
  for (const url of ['/', '/any']) t.equal((await app.inject(url)).statusCode, 401, url)
})

t.test('what the test kit was known by does nothing in an app without it', async (t) => {
  const standIn = (): Authenticator => ({ authenticate: () => ({ name: 'nobody' }) })
  const app = await appWith(t, standardOptions(), (app) => {
    for (const name of ['fastify-authn.stand-in', 'fastify-authn.testing.acting']) {
      Object.assign(app, { [Symbol.for(name)]: standIn })
      Object.assign(globalThis, { [Symbol.for(name)]: standIn })
    }
    app.get('/', { config: { auth: true } }, () => t.fail('the handler ran'))
  })
  t.equal((await app.inject('/')).statusCode, 401)
  const { [Symbol.for('fastify-authn.key-of')]: reader } = app.jwtService as never
  t.equal(reader, undefined)
})

t.test('without the kit a plan has its own authenticator', async (t) => {
  const authenticator: Authenticator = { authenticate: () => null }
  t.equal(kit.standIn?.(authenticator, {}) ?? authenticator, authenticator)
})

t.test('with it, only apps in which authnTesting is registered have another one', async (t) => {
  const { authnTesting, actingAs } = await import('../../lib/testing/index.js')
  const declare = (app: Parameters<NonNullable<Parameters<typeof appWith>[2]>>[0]): void => {
    app.get('/', { config: { auth: true } }, (request) => request.user)
  }
  const plain = await appWith(t, standardOptions(), declare)
  const alice = { id: 1, name: 'alice' }
  t.equal((await plain.inject({ url: '/', ...actingAs(alice) })).statusCode, 401)
  const tested = await appWith(t, standardOptions(), async (app) => {
    await app.register(authnTesting)
    declare(app)
  })
  t.strictSame((await tested.inject({ url: '/', ...actingAs(alice) })).json(), alice)
  t.equal((await tested.inject('/')).statusCode, 401)
  const headers = bearer(tested.jwtService.generateToken('bob'))
  t.match((await tested.inject({ url: '/', headers })).json(), { name: 'bob' })
})

t.test('keys are those of services of ours only', async (t) => {
  t.match(kit.keysOf?.(new JwtService({ secret }), 'HS256'), [{ alg: 'HS256', kid: undefined }])
  t.same(kit.keysOf?.(new JwtService({ secret }), 'RS256'), [])
  t.equal(kit.keysOf?.({ signingMethod: 'HS256' }, 'HS256'), undefined)
})
