import * as Type from '@sinclair/typebox/type'
import type { PluginRoute } from '../http/plugin-route.js'
import { featureRoutes, tokenSchema as token } from '../login/feature-routes.js'
import { belowLogin, besideLogin } from '../login/plugin-routes.js'
import { add, addOptions, list, logIn, loginOptions, remove, rename } from './handlers.js'
import type { PasskeyTools } from './tools.js'

const id = Type.String({ minLength: 1, maxLength: 1364 })
const name = Type.String({ maxLength: 64 })
/** The response of a browser: what is wrong within is a 403, whose reason is in the log alone. */
const response = Type.Object({}, { description: 'What `toJSON()` of the credential returns.' })
export const answer = { token, response }

export const counts = {
  isWrong: ({ code }: { readonly code?: unknown }) => code === 'ERR_AUTH_PASSKEY_INVALID',
  isAsked: true,
}

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
const ofOwn = { 403: 'No session of the user, or not a passkey of the user.' }

export function passkeyRoutes(login: string, tools: PasskeyTools): PluginRoute[] {
  const [below, beside] = [belowLogin(login, 'passkey'), besideLogin(login, 'passkeys')]
  const tokens = tools.registration.carrier.schema(true)
  const begun = { 200: tokens, 401: 'The token is not valid any more.', ...wrong }
  const named = { ...answer, name: Type.Optional(name) }
  return featureRoutes(tools, {
    option: 'passkeys',
    authenticator: 'passkey',
    kindOf: (_path, summary) => summary.toLowerCase(),
    counts: { ...counts, at: [logIn] },
    logins: [logIn],
    mayLackBody: true,
    seeing: [loginOptions],
    open: [
      [`POST ${below}/options`, 'Begin a log-in with a passkey', loginOptions, {}, asked],
      [`POST ${below}`, 'Log in with a passkey', logIn, answer, begun],
    ],
    own: [
      [`POST ${beside}/options`, 'Begin to add a passkey', addOptions, {}, asked],
      [`POST ${beside}`, 'Add a passkey', add, named, { 201: shown }],
      [`GET ${beside}`, 'List the passkeys', list, null, { 200: listed }],
      [`POST ${beside}/rename`, 'Rename a passkey', rename, { id, name }, done],
      [`POST ${beside}/remove`, 'Remove a passkey', remove, { id }, removed],
    ],
    ofOwn,
  })
}
