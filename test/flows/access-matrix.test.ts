// What a user may do: every form of a mark, with every place where scopes and roles come from, every authenticator and
// every way to ask for a user. One app, and beside each answer the events, the questions and the runs of the handler.
import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import Fastify, { type FastifyInstance, type FastifyRequest } from 'fastify'
import t from 'tap'
import {
  anyOf,
  authn,
  basicAuthenticator,
  configBasicAuthenticator,
  jwtAuthenticator,
  JwtService,
  type AccessOptions,
  type AuthMark,
  type NeededNames,
} from '../../lib/index.js'
import { basic, bearer, passwords, secret, users } from '../helpers/app.js'
import { isRefusal, isWelcome, probe, same, texts, tokenChallenge } from '../helpers/flows.js'

type Headers = Record<string, string>

/** Scopes and roles that a request has: the same names, so that a mix-up of the two would be seen. */
interface Given {
  readonly scopes: readonly string[]
  readonly roles: readonly string[]
}

const forbidden = 'You are not allowed to do this.'
const insufficient = 'Your credentials do not allow this action.'
const lacking = (scope: string): string =>
  `Bearer realm="Authorization required", error="insufficient_scope", error_description="The token lacks the required scope", scope="${scope}"`

/** What a request is to have, as it says itself: names may contain spaces. */
const namesIn = ({ headers }: FastifyRequest, key: 'scopes' | 'roles'): string[] =>
  JSON.parse(String(headers[`x-${key}`] ?? '[]')) as string[]

/** How often the functions of `access` were asked. */
const asked = { scopesOf: 0, rolesOf: 0 }
const counted = <Value>(source: keyof typeof asked, value: Value): Value => {
  asked[source] += 1
  return value
}

/** Where scopes and roles come from. Null: from the token and the user, as by default. */
const sources: Readonly<Record<string, AccessOptions | null>> = {
  default: null,
  array: {
    scopesOf: (_, request) => counted('scopesOf', namesIn(request, 'scopes')),
    rolesOf: (_, request) => counted('rolesOf', namesIn(request, 'roles')),
  },
  promise: {
    scopesOf: async (_, request) => counted('scopesOf', namesIn(request, 'scopes')),
    rolesOf: (_, request) => Promise.resolve(counted('rolesOf', namesIn(request, 'roles'))),
  },
  iterable: {
    scopesOf: (_, request) => counted('scopesOf', new Set(namesIn(request, 'scopes'))),
    *rolesOf(_, request) {
      yield* counted('rolesOf', namesIn(request, 'roles'))
    },
  },
  // Null, or nothing, stands for none.
  nothing: {
    scopesOf: () => counted('scopesOf', null),
    rolesOf: async () => counted('rolesOf', undefined),
  },
}

/** The credentials of each authenticator; whether they are a token, and whether its user has roles of its own. */
interface Way {
  readonly use: string | readonly string[]
  readonly headers: (given: Given) => Headers
  readonly isToken?: true
  readonly isInConfig?: true
  readonly name: string
}

/** Each registration of the app has a service of its own, with the same secret. */
const tokens = new JwtService({ secret })
const tokenHeader = ({ scopes }: Given): Headers =>
  bearer(tokens.generateTokenWithClaims({ sub: 'alice', scope: scopes.join(' ') }))
const basicHeader = (): Headers => basic('alice', passwords.alice)
const keyHeader = (): Headers => ({ 'x-api-key': 'k' })

const ways: readonly Way[] = [
  { use: 'jwt', headers: tokenHeader, isToken: true, name: 'alice' },
  { use: 'lenient', headers: tokenHeader, isToken: true, name: 'alice' },
  { use: 'basic', headers: basicHeader, name: 'alice' },
  { use: 'configBasic', headers: () => basic('root', 'toor'), isInConfig: true, name: 'root' },
  { use: 'key', headers: keyHeader, name: 'machine' },
  { use: 'either', headers: keyHeader, name: 'machine' },
  { use: 'either', headers: tokenHeader, isToken: true, name: 'alice' },
  { use: ['jwt', 'basic'], headers: basicHeader, name: 'alice' },
  { use: ['basic', 'jwt'], headers: tokenHeader, isToken: true, name: 'alice' },
]

interface Form {
  readonly scope?: NeededNames
  readonly role?: NeededNames
}
const forms: readonly Form[] = [
  { scope: { all: ['a'] } },
  { scope: { all: ['a', 'b'] } },
  { scope: { any: ['b', 'a'] } },
  { role: { all: ['a'] } },
  { role: { all: ['a', 'b'] } },
  { role: { any: ['b', 'a'] } },
  { scope: { all: ['a'] }, role: { any: ['b', 'c'] } },
]

/** As people write it: one name alone is a text. */
const written = (need: NeededNames | undefined): unknown =>
  need !== undefined && 'all' in need && need.all.length === 1 ? need.all[0] : need
const markOf = ({ scope, role }: Form, more: object): AuthMark =>
  ({
    ...(scope && { scope: written(scope) }),
    ...(role && { role: written(role) }),
    ...more,
  }) as AuthMark

/** What the challenge tells a client to ask for: of several that are each enough, the first. */
const askedFor = (scope: NeededNames = { all: [] }): string =>
  'all' in scope ? scope.all.join(' ') : String(scope.any[0])

/** A cell of the matrix. */
interface At {
  readonly form: Form
  readonly way: Way
}

const grants: readonly Given[] = [
  { scopes: [], roles: [] },
  { scopes: ['a'], roles: [] },
  { scopes: [], roles: ['a'] },
  { scopes: ['b'], roles: ['b'] },
  { scopes: ['a', 'b', 'z'], roles: ['b', 'a'] },
  { scopes: ['A', 'aa', 'a:b', 'B'], roles: ['A', 'aa', 'a b', 'B'] },
]

/** Said once more, and otherwise than in lib/. */
const holds = (need: NeededNames | undefined, names: readonly string[]): boolean => {
  if (need === undefined) return true
  const missing = ('all' in need ? need.all : need.any).filter((name) => !names.includes(name))
  return missing.length <= ('all' in need ? 0 : need.any.length - 1)
}

/** What a request has, from the place that counts. */
function effective(source: string, way: Way, { scopes, roles }: Given): Given {
  if (source === 'nothing') return { scopes: [], roles: [] }
  if (source !== 'default') return { scopes, roles }
  return { scopes: way.isToken ? scopes : [], roles: way.isInConfig ? [] : roles }
}

const find = (name: string | number, request: FastifyRequest): object | null => {
  const found = users.find((user) => user.name === name)
  return found === undefined ? null : { ...found, roles: namesIn(request, 'roles') }
}
const key = {
  authenticate: (request: FastifyRequest) =>
    request.headers['x-api-key'] === 'k'
      ? { name: 'machine', roles: namesIn(request, 'roles') }
      : null,
}

/** One app; each source is a registration of its own, with a route for each form and authenticator. */
async function matrixApp(handler: ReturnType<typeof probe>['handler']): Promise<FastifyInstance> {
  const app = Fastify()
  const userService = { findByUsername: find }
  for (const [source, access] of Object.entries(sources)) {
    await app.register(
      async (scope) => {
        await scope.register(authn, {
          userService,
          jwt: { secret },
          basic: { username: 'root', password: 'toor' },
          login: false,
          authenticators: {
            key,
            configBasic: configBasicAuthenticator({ username: 'root', password: 'toor' }),
            lenient: jwtAuthenticator({ optional: true }),
            either: anyOf(jwtAuthenticator(), basicAuthenticator(), key),
          },
          ...(access && { access }),
        })
        for (const [form, needs] of forms.entries()) {
          for (const [way, { use }] of ways.entries()) {
            // Written in each place that a mark may have.
            scope.get(
              `/${form}/${way}/route`,
              { config: { auth: markOf(needs, { use }) } },
              handler,
            )
            scope.get(
              `/${form}/${way}/long`,
              { config: { auth: markOf(needs, { use, mode: true }) } },
              handler,
            )
            scope.register(async (group) => void group.get('/group', handler), {
              prefix: `/${form}/${way}`,
              auth: markOf(needs, { use }),
            })
          }
        }
      },
      { prefix: `/${source}` },
    )
  }
  await app.ready()
  return app
}

/** Counts the events of all requests, by name. */
function eventsOf(): { take: () => string[]; stop: () => void } {
  let seen: string[] = []
  const stops = ['success', 'failure', 'throttled', 'overloaded'].map((name) => {
    const listener = (): void => void seen.push(name)
    subscribe(`fastify-authn:${name}`, listener)
    return () => unsubscribe(`fastify-authn:${name}`, listener)
  })
  const take = (): string[] => {
    const taken = seen
    seen = []
    return taken
  }
  return { take, stop: () => stops.forEach((stop) => stop()) }
}

t.test('forms, sources, authenticators and places', async (t) => {
  const { handler, take } = probe()
  const app = await matrixApp(handler)
  const events = eventsOf()
  t.teardown(async () => {
    events.stop()
    await app.close()
  })
  let [passed, refused] = [0, 0]

  async function play(url: string, source: string, at: At, given: Given): Promise<void> {
    const { form, way } = at
    const sent = {
      ...way.headers(given),
      'x-scopes': JSON.stringify(given.scopes),
      'x-roles': JSON.stringify(given.roles),
    }
    const { scopes, roles } = effective(source, way, given)
    const [hasScope, hasRole] = [holds(form.scope, scopes), holds(form.role, roles)]
    const message = `${url} ${JSON.stringify([form, way.use, given])}`
    const response = await app.inject({ url, headers: sent })
    const isIn = hasScope && hasRole
    if (isIn) isWelcome(t, response, way.name, message)
    else {
      const challenge = !hasScope && way.isToken ? lacking(askedFor(form.scope)) : null
      const error = hasScope ? forbidden : insufficient
      isRefusal(t, response, { status: 403, error, challenge }, message)
    }
    passed += isIn ? 1 : 0
    refused += isIn ? 0 : 1
    const expected = {
      runs: isIn ? 1 : 0,
      events: [isIn ? 'success' : 'failure'],
      scopesOf: source !== 'default' && form.scope ? 1 : 0,
      rolesOf: source !== 'default' && form.role && hasScope ? 1 : 0,
    }
    same(t, { runs: take(), events: events.take(), ...asked }, expected, message)
    Object.assign(asked, { scopesOf: 0, rolesOf: 0 })
  }

  for (const source of Object.keys(sources)) {
    for (const [f, form] of forms.entries()) {
      for (const [w, way] of ways.entries()) {
        for (const [g, given] of grants.entries()) {
          // Each place in turn, so that every form and every authenticator comes to each of them.
          const place = ['route', 'long', 'group'][(f + w + g) % 3]
          await play(`/${source}/${f}/${w}/${place}`, source, { form, way }, given)
        }
      }
    }
  }
  t.ok(passed > 300 && refused > 1000, `${passed} passed, ${refused} refused`)

  // Nobody, and somebody who is refused: a 401 as ever, in every place, and nobody is asked for names.
  for (const [way, { use }] of ways.entries()) {
    for (const form of forms.keys()) {
      const url = `/array/${form}/${way}/route`
      const nobody = await app.inject(url)
      t.equal(nobody.statusCode, 401, JSON.stringify(use))
      t.notMatch(String(nobody.headers['www-authenticate']), 'scope')
      const wrong = await app.inject({ url, headers: bearer('x.y.z') })
      t.equal(wrong.statusCode, 401)
      t.strictSame([take(), { ...asked }], [0, { scopesOf: 0, rolesOf: 0 }])
      t.strictSame(events.take(), ['failure', 'failure'])
    }
  }
  const broken = await app.inject({ url: '/array/0/0/route', headers: bearer('x.y.z') })
  isRefusal(t, broken, {
    error: texts.jwtInvalid,
    challenge: tokenChallenge('The token is invalid'),
  })
})
