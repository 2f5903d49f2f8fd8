import type { FastifyInstance, FastifyReply } from 'fastify'
import t from 'tap'
import { anyOf } from '../../lib/authenticators/any-of.js'
import { basicAuthenticator } from '../../lib/authenticators/basic.js'
import { configBasicAuthenticator } from '../../lib/authenticators/config-basic.js'
import { AuthenticationError } from '../../lib/errors/errors.js'
import { appWith } from '../helpers/app.js'
import { thrownBy } from '../helpers/errors.js'
import { requestWith } from '../helpers/fakes.js'
import type { Authenticator } from '../../types/authenticator.js'
import type { AuthMark } from '../../types/marks.js'

type Traits = Pick<Authenticator, 'scheme' | 'accepts'>

/** A member that says that it was asked, and whose user is its number. */
function member(id: number, log: string[], traits: Traits = {}): Authenticator {
  return {
    ...traits,
    authenticate() {
      log.push(`asked ${id}`)
      return { id }
    },
    onUnauthorized: () => void log.push(`rejection written by ${id}`),
  }
}

const basic = { scheme: 'Basic' }
const bearer = { scheme: 'Bearer' }
/** Accepts the requests with one value after the scheme, or with such a cookie. */
const own = (value: string, scheme?: string): Traits => ({
  ...(scheme !== undefined && { scheme }),
  accepts: ({ headers }) =>
    headers.authorization?.endsWith(` ${value}`) === true || headers.cookie === value,
})

t.test('anyOf() asks one member: by scheme, by accepts(), or without both', async (t) => {
  // By the header: the number of the member that is asked, or null.
  const cases: [string, Traits[], Record<string, number | null>][] = [
    ['by the scheme', [basic, bearer], { 'Basic x': 0, 'BEARER x': 1, 'bearer\tx': 1, Bearer: 1 }],
    ['no scheme fits', [basic, bearer], { '': null, 'Other x': null, 'Basics x': null }],
    ['one without both', [basic, {}], { 'Basic x': 0, 'Bearer x': 1, '': 1 }],
    ['the same in the other order', [{}, basic], { 'Basic x': 1, 'Bearer x': 0, '': 0 }],
    [
      'of one scheme the first that accepts, else the first, which rejects',
      [own('a', 'Bearer'), own('b', 'Bearer'), own('b', 'Bearer')],
      { 'Bearer a': 0, 'Bearer b': 1, 'Bearer c': 0, '': null },
    ],
    [
      'of one scheme the one without accepts() gets what the others do not accept',
      [own('a', 'Bearer'), bearer, own('b', 'Bearer')],
      { 'Bearer a': 0, 'Bearer b': 2, 'Bearer c': 1 },
    ],
    [
      'accepts() without a scheme of the header',
      [own('a', 'Bearer'), own('b'), {}],
      { 'cookie a': 0, 'cookie b': 1, 'cookie c': 2, 'Other b': 1, 'Bearer b': 0 },
    ],
    ['accepts() of all says no', [own('a'), own('b', 'Basic')], { '': null, 'cookie c': null }],
  ]
  for (const [title, traits, byHeader] of cases) {
    for (const [header, expected] of Object.entries(byHeader)) {
      const log: string[] = []
      const combined = anyOf(...traits.map((each, id) => member(id, log, each)))
      const [name, value] = header.split(' ')
      const request = requestWith(
        name === 'cookie' ? { cookie: String(value) } : header ? { authorization: header } : {},
      )
      const user = await combined.authenticate(request)
      t.strictSame(user, expected === null ? null : { id: expected }, `${title}: ${header}`)
      t.strictSame(log, expected === null ? [] : [`asked ${expected}`], `${title}: ${header}`)
    }
  }
})

t.test('an anyOf() inside of another accepts what one of its members accepts', async (t) => {
  const log: string[] = []
  const [first, second, third] = ['a', 'b', 'c'].map((value, id) =>
    member(id, log, own(value, 'Bearer')),
  ) as [Authenticator, Authenticator, Authenticator]
  const combined = anyOf(anyOf(first, second), third)
  for (const [value, id] of Object.entries({ a: 0, b: 1, c: 2, d: 0 })) {
    const request = requestWith({ authorization: `Bearer ${value}` })
    t.strictSame(await combined.authenticate(request), { id }, value)
    t.equal(combined.accepts?.(request), value !== 'd')
  }
})

t.test('startup fails for authenticators of one scheme without accepts()', async (t) => {
  const two = [member(0, [], bearer), member(1, [], { scheme: 'bearer' })] as const
  const error = { code: 'ERR_AUTH_OPTION', message: /than bearer nor accepts/ }
  const basics = [basicAuthenticator(), { ...basicAuthenticator(), optional: true }] as const
  t.throws(() => anyOf(...two), error)
  t.throws(() => anyOf(two[0], member(2, [], basic), anyOf(two[1])), error, 'nested')
  t.throws(() => anyOf(anyOf(two[0]), { ...anyOf(two[1]), optional: true }), error, 'wrapped')
  t.throws(() => anyOf(anyOf(member(0, [])), member(1, [])), /neither a scheme nor accepts/)
  t.throws(() => anyOf(...basics), { code: 'ERR_AUTH_OPTION', message: /than basic nor accepts/ })
  t.ok(anyOf(two[0], two[0], anyOf(two[0])), 'one and the same')
  t.ok(anyOf(two[0], member(1, [], own('a', 'Bearer'))))
  t.ok(anyOf(basics[0], configBasicAuthenticator({ username: 'a', password: 'b' })))

  const authenticators = { a: two[0], b: two[1] }
  const place = { ...error, message: /option "authenticator": several/ }
  await t.rejects(appWith(t, { authenticators, authenticator: ['a', 'b'] }), place)
  const marked = (auth: AuthMark) => (app: FastifyInstance) =>
    app.get('/x', { config: { auth } }, () => 'ran')
  const ofRoute = { ...error, message: /route GET \/x, config\.auth: several/ }
  await t.rejects(appWith(t, { authenticators }, marked({ use: ['b', 'a'] })), ofRoute)
  const scope = async (app: FastifyInstance): Promise<void> => void app.get('/y', () => 'ran')
  const inScope = (app: FastifyInstance) => app.register(scope, { auth: { use: ['a', 'b'] } })
  await t.rejects(appWith(t, { authenticators }, inScope), error)
})

t.test('anyOf() calls onUnauthorized of the member it asked, or of its first', async (t) => {
  const log: string[] = []
  const silent = { scheme: 'Digest', authenticate: () => null }
  const combined = anyOf(member(0, log, basic), member(1, log, bearer), silent)
  const error = new AuthenticationError('auth.invalid-credentials')
  const reply = {} as FastifyReply
  // One error object in several requests at once.
  const requests = ['Basic x', 'Bearer x', 'Digest x', 'Other x'].map((authorization) =>
    requestWith({ authorization }),
  )
  for (const request of requests) await combined.authenticate(request)
  log.splice(0)
  for (const request of requests) await combined.onUnauthorized?.(error, request, reply)
  t.strictSame(
    log,
    [0, 1, 0].map((id) => `rejection written by ${id}`),
  )
})

t.test('anyOf() throws for no members and for members that are no authenticators', async (t) => {
  const seen = thrownBy(() => anyOf())
  t.match(seen, { code: 'ERR_AUTH_OPTION', message: /anyOf\(\)/ })
  const good: Authenticator = { authenticate: () => null }
  const wrong: [unknown, string][] = [
    [null, '"anyOf()[1]": found null, expected an authenticator'],
    ['jwt', '"anyOf()[1]": found an invalid string, expected an authenticator'],
    [{}, '"anyOf()[1].authenticate": found nothing'],
    [{ ...good, scheme: 'two words' }, '"anyOf()[1].scheme": found "two words"'],
    [{ ...good }, 'several authenticators have neither a scheme nor accepts()'],
  ]
  for (const [other, text] of wrong) {
    const { code, message } = thrownBy(() => anyOf(good, other as Authenticator))
    t.equal(code, 'ERR_AUTH_OPTION')
    t.match(message, text)
  }
})
