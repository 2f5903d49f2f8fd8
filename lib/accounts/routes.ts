import * as Type from '@sinclair/typebox/type'
import { digestOf } from '../common/digest.js'
import { sharedOptions, type PluginRoute, type Responses } from '../http/plugin-route.js'
import { besideLogin } from '../login/plugin-routes.js'
import { moveRoutes } from '../login/route.js'
import { checkBody } from '../login/schema.js'
import { longestEmail } from './email.js'
import {
  changeEmail,
  changePassword,
  confirmEmail,
  deleteAccount,
  finishSignUp,
  forgotPassword,
  requestPassword,
  resetPassword,
  signUp,
  type Body,
  type Handle,
} from './handlers.js'
import type { AccountTools } from './tools.js'
import type { Authenticator } from '../../types/authenticator.js'

/** Characters of a token, which may hold the data of an invitation, and of a password. */
const maxLength = 16_384

const email = Type.String({ minLength: 1, maxLength: longestEmail })
const token = Type.String({ minLength: 1, maxLength })
const password = Type.String({ maxLength })
/** Optional, since some users have none. */
const proof = { currentPassword: Type.Optional(password) }

/** Whether a route is protected: then only a session of the user may do it. */
type Access = 'open' | 'session'
type Row = readonly [
  access: Access,
  summary: string,
  handle: Handle,
  body: Type.TProperties,
  responses: Responses,
]

/** The routes by their paths beside the login route. @param tokens - the body of a login */
function rowsOf(tokens: object): Readonly<Record<string, Row>> {
  const wrong = { 400: 'The body or the link is not valid, or the password is rejected.' }
  const done = { 204: 'Done.', ...wrong }
  const begun = { 200: tokens, ...wrong }
  const created = { ...begun, 204: 'The account was created, but is not found yet.' }
  const mailed = { 202: { type: 'object', description: 'An e-mail is sent, if there is one.' } }
  const unproved = { 403: 'No session of the user, or the current password is wrong.' }
  const changed = { ...begun, ...unproved }
  const asked = { ...mailed, ...unproved }
  const deleted = { ...done, ...unproved }
  const first = { ...mailed, 403: 'No recent login of a user with an address and no password.' }
  const both = { ...proof, password, token: Type.Optional(token) }
  return {
    'sign-up': ['open', 'Sign up', signUp, { email }, mailed],
    'sign-up/finish': ['open', 'Finish a sign-up', finishSignUp, { token, password }, created],
    'password/forgot': ['open', 'Ask for a link', forgotPassword, { email }, mailed],
    'password/reset': ['open', 'Reset a password', resetPassword, { token, password }, done],
    'password/set': ['session', 'Ask for a first password', requestPassword, {}, first],
    'password/change': ['session', 'Change the password', changePassword, both, changed],
    'email/change': ['session', 'Change the address', changeEmail, { email, ...proof }, asked],
    'email/confirm': ['session', 'Confirm a new address', confirmEmail, { token }, done],
    'account/delete': ['session', 'Delete the account', deleteAccount, proof, deleted],
  }
}

const ofSession = {
  401: 'The credentials are missing or not accepted.',
  403: 'No session of the user.',
}

export function accountRoutes(login: string, tools: AccountTools): PluginRoute[] {
  const { carrier, authenticators, attempts } = tools.registration
  const { routeOptions, signUp: isOpen, given } = tools.resolved
  const isOffered = ([name]: [string, Row]): boolean =>
    (name !== 'sign-up' || isOpen) && (name !== 'account/delete' || given.remove !== undefined)
  const rows = Object.entries(rowsOf(carrier.schema(true))).filter(isOffered)
  return rows.map(([name, [access, summary, handle, body, responses]]) => {
    const schema = Type.Object(body)
    const read = (value: unknown): Body => {
      checkBody(schema, value)
      return value as Body
    }
    const own = access === 'session' && {
      mark: { use: 'jwt' },
      notes: {
        responses: { ...ofSession, ...responses },
        accepts: [authenticators.get('jwt') as Authenticator],
      },
    }
    return {
      kind: name.replace('/', ' '),
      method: 'POST',
      path: besideLogin(login, name),
      option: 'accounts',
      ifTaken: moveRoutes,
      body: { schema, read },
      givesTokens: 200 in responses,
      authenticator: 'account',
      notes: { responses },
      ...own,
      options: { ...routeOptions, ...sharedOptions(routeOptions, { summary }) },
      async work(request, reply) {
        const given = read(request.body)
        try {
          return await handle(tools, given, request, reply)
        } catch (error) {
          if ((error as { code?: unknown }).code === 'ERR_AUTH_LINK_INVALID')
            await attempts.countRejectedToken(`link ${digestOf(given.token)}`, request)
          throw error
        }
      },
    }
  })
}
