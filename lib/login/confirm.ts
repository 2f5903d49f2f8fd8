import * as Type from '@sinclair/typebox/type'
import { insufficient } from '../guard/level.js'
import { sharedOptions, type PluginRoute } from '../http/plugin-route.js'
import { badRequest } from '../http/query.js'
import { featureRoutes, type HandleOf } from './feature-routes.js'
import { finishLogin, giveTokens } from './finish.js'
import { belowLogin } from './plugin-routes.js'
import { currentPasswordCheck, guess, recent, requireAlive, requireOwnSession } from './proof.js'
import type { Confirmation, Registration } from '../feature.js'
import type { ResolvedLogin } from '../options/resolve.js'
import type { Guessed } from '../throttle/guesses.js'

type Body = Readonly<Record<string, unknown>>
type Handle = HandleOf<Tools, Body>
type Proves = Required<Confirmation> & { readonly name: Guessed }

interface Tools {
  readonly registration: Registration
  readonly resolved: { readonly routeOptions: NonNullable<PluginRoute['options']> }
  readonly ways: readonly Confirmation[]
}

const password = Type.String({ minLength: 1, maxLength: 16_384 })

function byPassword(registration: Registration): Confirmation {
  const check = currentPasswordCheck(registration)
  return {
    name: 'password',
    amr: ['pwd'],
    isOffered: ({ user }) => registration.passwords.hasPassword(user),
    proves: {
      body: { password },
      check: ({ sub }, body: { password: string }, request, isLast) =>
        check(String(sub), body.password, request, isLast),
    },
  }
}

const isStrong = ({ amr }: Confirmation): boolean => amr.includes('mfa')

const show: Handle = async ({ registration, ways }, _body, request) => {
  const own = requireOwnSession(registration, request)
  const { time, isMfa } = own
  const offered: Confirmation[] = []
  for (const way of ways) if (await way.isOffered(own, request)) offered.push(way)
  const namesOf = (some: readonly Confirmation[]) => some.map(({ name }) => name)
  const mfa = offered.filter(isStrong)
  const methods = { fresh: namesOf(isMfa ? mfa : offered), mfa: namesOf(mfa) }
  const date = new Date(time * 1000)
  // Early builds have stored no time, and a provider may have sent any number.
  const at = !Number.isNaN(date.getTime()) && { authenticated: date.toISOString() }
  return { ...at, mfa: isMfa, methods }
}

/** Replaces the session by one that has proved more. A copy of its tokens ends with it. */
const confirm: Handle = async ({ registration, ways }, body, request, reply, started) => {
  const own = requireOwnSession(registration, request)
  const { sub: username, sid, amr } = own
  const way = chosen(ways, body)
  if (own.isMfa && !isStrong(way)) {
    throw insufficient({ mfa: true, fresh: recent }, `${way.name} is less than the session proves`)
  }
  await requireAlive(registration, request)
  const { counts = null } = way.proves
  const check = (isLast: boolean) => way.proves.check(own, body as never, request, isLast)
  const proved = await registration.attempts.counting(counts, body, request, () =>
    guess(registration, request, own, way.name, check),
  )
  const authentication = { amr: [...new Set([...amr, ...way.amr])], isRenewed: true }
  const confirm = async (): Promise<void> => {
    await proved.confirm?.()
    await requireAlive(registration, request)
  }
  const login = { ...proved, confirm, username, started, authentication, replaces: sid }
  return finishLogin(registration, request, reply, login, {}, giveTokens, 'confirm')
}

/** @throws Error with the status 400 for a body that is not for exactly one of them */
function chosen(ways: readonly Confirmation[], body: Body): Proves {
  const able = ways.filter((way): way is Proves => way.proves !== undefined)
  const members = able.map(({ proves }) => Type.Object(proves.body).required ?? [])
  const sentOf = ({ proves }: Proves) =>
    Object.keys(proves.body).filter((name) => Object.hasOwn(body, name))
  const isSent = (names: readonly string[]) => names.every((name) => Object.hasOwn(body, name))
  const sent = able.filter((_, at) => isSent(members[at] as string[]))
  // The code of an e-mail comes with a token, which a code of an app does not need.
  const isPart = (one: Proves): boolean =>
    sent.some((other) => {
      const [part, whole] = [sentOf(one), sentOf(other)]
      return part.length < whole.length && part.every((name) => whole.includes(name))
    })
  const [way, other] = sent.filter((each) => !isPart(each))
  if (way !== undefined && other === undefined) return way
  return badRequest(`body must have ${members.map((names) => names.join(' and ')).join(', or ')}`)
}

/** `POST /login/confirm`, by which a user proves again, or with more, that it is them; and what of that is possible. */
export function confirmRoutes(registration: Registration, login: ResolvedLogin): PluginRoute[] {
  const { features, carrier } = registration
  const ofFeatures = features.flatMap(({ confirmations }) => confirmations ?? [])
  const ways = [...(login.passwords === false ? [] : [byPassword(registration)]), ...ofFeatures]
  const bodies = Object.assign({}, ...ways.map(({ proves }) => proves?.body)) as Type.TProperties
  const { properties } = Type.Partial(Type.Object(bodies))
  const names = Type.Array(Type.String())
  const proved = {
    authenticated: Type.Optional(Type.String({ format: 'date-time' })),
    mfa: Type.Boolean(),
    methods: Type.Object({ fresh: names, mfa: names }),
  }
  const description = 'What it has proved, and how to prove more.'
  const shown = { 200: Type.Object(proved, { description }) }
  const confirmed = {
    200: carrier.schema(true),
    400: 'The body is not valid.',
    403: 'It is wrong, or no session of the user.',
  }
  const path = belowLogin(login.path, 'confirm')
  const resolved = { routeOptions: sharedOptions(login.routeOptions, {}) }
  const tools: Tools = { registration, ways, resolved }
  return featureRoutes(tools, {
    option: 'sessions',
    authenticator: 'confirm',
    kindOf: (_path, summary) => (summary.startsWith('Show') ? 'methods' : 'confirm'),
    logins: [confirm],
    counts: null,
    own: [
      [`GET ${path}`, 'Show what the session has proved', show, null, shown],
      [`POST ${path}`, 'Confirm that it is you', confirm, properties, confirmed],
    ],
  })
}
