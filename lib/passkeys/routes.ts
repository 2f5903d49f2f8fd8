import * as Type from '@sinclair/typebox/type'
import { sharedOptions, type PluginRoute, type Responses } from '../http/plugin-route.js'
import { belowLogin, besideLogin } from '../login/plugin-routes.js'
import { moveRoutes } from '../login/route.js'
import { checkBody } from '../login/schema.js'
import {
  add,
  addOptions,
  list,
  logIn,
  loginOptions,
  remove,
  rename,
  type Body,
  type Handle,
} from './handlers.js'
import type { PasskeyTools } from './tools.js'
import type { Authenticator } from '../../types/authenticator.js'

const id = Type.String({ minLength: 1, maxLength: 1364 })
const name = Type.String({ maxLength: 64 })
/** The response of a browser: what is wrong within is a 403, whose reason is in the log alone. */
const response = Type.Object({}, { description: 'What `toJSON()` of the credential returns.' })
const answer = { token: Type.String({ minLength: 1, maxLength: 16_384 }), response }

const text = Type.String()
const shown = Type.Object(
  {
    id: text,
    transports: Type.Array(text),
    aaguid: text,
    backedUp: Type.Boolean(),
    name: text,
    created: text,
    lastUsed: Type.Union([text, Type.Null()]),
  },
  { description: 'The passkey.' },
)
const asked = {
  200: Type.Object({ token: text, publicKey: Type.Object({}) }, { description: 'The options.' }),
}
const listed = Type.Object(
  { rpId: text, userId: text, passkeys: Type.Array(shown) },
  { description: 'The passkeys of the user.' },
)
const done = { 204: 'Done.' }
const removed = { ...done, 409: 'The passkey is the only way to log in that the user has.' }
const wrong = { 403: 'The response is not valid.' }
const ofSession = {
  401: 'The credentials are missing or not accepted, or the user has to log in again.',
  403: 'No session of the user, or not a passkey of the user.',
}

type Row = readonly [
  place: string,
  access: 'open' | 'session',
  summary: string,
  handle: Handle,
  body: Type.TProperties,
  responses: Responses,
]

/** @param tokens - the body of a login */
function rowsOf(login: string, tokens: object): readonly Row[] {
  const [below, beside] = [belowLogin(login, 'passkey'), besideLogin(login, 'passkeys')]
  const begun = { 200: tokens, 401: 'The token is not valid any more.', ...wrong }
  const named = { ...answer, name: Type.Optional(name) }
  return [
    [`POST ${below}/options`, 'open', 'Begin a log-in with a passkey', loginOptions, {}, asked],
    [`POST ${below}`, 'open', 'Log in with a passkey', logIn, answer, begun],
    [`POST ${beside}/options`, 'session', 'Begin to add a passkey', addOptions, {}, asked],
    [`POST ${beside}`, 'session', 'Add a passkey', add, named, { 201: shown }],
    [`GET ${beside}`, 'session', 'List the passkeys', list, {}, { 200: listed }],
    [`POST ${beside}/rename`, 'session', 'Rename a passkey', rename, { id, name }, done],
    [`POST ${beside}/remove`, 'session', 'Remove a passkey', remove, { id }, removed],
  ]
}

export function passkeyRoutes(login: string, tools: PasskeyTools): PluginRoute[] {
  const { carrier, authenticators } = tools.registration
  const { routeOptions } = tools.resolved
  const accepts = [authenticators.get('jwt') as Authenticator]
  return rowsOf(login, carrier.schema(true)).map((row) => {
    const [place, access, summary, handle, properties, responses] = row
    const [method, path] = place.split(' ') as ['GET' | 'POST', string]
    const schema = Type.Object(properties)
    const read = (value: unknown): Body => {
      const body = value ?? {}
      checkBody(schema, body)
      return body as Body
    }
    const own = access === 'session' && {
      mark: { use: 'jwt' },
      notes: { responses: { ...ofSession, ...responses }, accepts },
    }
    return {
      kind: summary.toLowerCase(),
      method,
      path,
      option: 'passkeys',
      ifTaken: moveRoutes,
      ...(method === 'POST' && { body: { schema, read } }),
      givesTokens: handle === logIn,
      authenticator: 'passkey',
      notes: { responses },
      ...own,
      options: { ...routeOptions, ...sharedOptions(routeOptions, { summary }) },
      async work(request, reply, started) {
        void reply.header('cache-control', 'no-store')
        return handle(tools, read(request.body), request, reply, started)
      },
    }
  })
}
