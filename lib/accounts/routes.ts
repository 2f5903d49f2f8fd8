import * as Type from '@sinclair/typebox/type'
import type { PluginRoute } from '../http/plugin-route.js'
import { featureRoutes, tokenSchema as token } from '../login/feature-routes.js'
import { besideLogin } from '../login/plugin-routes.js'
import { emailSchema as email } from '../mail/email.js'
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
} from './handlers.js'
import type { AccountTools } from './tools.js'

const password = Type.String({ maxLength: 16_384 })
const chosen = { token, password }
/** Optional, since some users have none. */
const proof = { currentPassword: Type.Optional(password) }

const mailed = { 202: { type: 'object', description: 'An e-mail is sent, if there is one.' } }
const wrong = { 400: 'The body or the link is not valid, or the password is rejected.' }
const unproved = { 403: 'No session of the user, or the current password is wrong.' }
const done = { 204: 'Done.', ...wrong }
const asked = { ...mailed, ...unproved }
const deleted = { ...done, ...unproved }
const first = { ...mailed, 403: 'No recent login of a user with an address and no password.' }
const ofOwn = { 401: 'The credentials are missing or not accepted.' }

export function accountRoutes(login: string, tools: AccountTools): PluginRoute[] {
  const { signUp: isOpen, given } = tools.resolved
  const beside = besideLogin(login, '')
  const begun = { 200: tools.registration.carrier.schema(true), ...wrong }
  const created = { ...begun, 204: 'The account was created, but is not found yet.' }
  const changed = { ...begun, ...unproved }
  // An invitation leads to it also where users log in by e-mails.
  const finish = tools.isPasswordless ? { token } : chosen
  const both = { ...proof, password, token: Type.Optional(token) }
  const isOffered = ({ path }: PluginRoute): boolean =>
    (isOpen || path !== `${beside}sign-up`) &&
    !(tools.isPasswordless && path.startsWith(`${beside}password/`)) &&
    (given.remove !== undefined || path !== `${beside}account/delete`)
  return featureRoutes(tools, {
    option: 'accounts',
    authenticator: 'account',
    kindOf: (path) => path.slice(beside.length).replace('/', ' '),
    counts: {
      isWrong: ({ code }) => code === 'ERR_AUTH_LINK_INVALID',
      at: [finishSignUp, resetPassword, changePassword, confirmEmail],
    },
    logins: [finishSignUp, changePassword],
    open: [
      [`POST ${beside}sign-up`, 'Sign up', signUp, { email }, mailed],
      [`POST ${beside}sign-up/finish`, 'Finish a sign-up', finishSignUp, finish, created],
      [`POST ${beside}password/forgot`, 'Ask for a link', forgotPassword, { email }, mailed],
      [`POST ${beside}password/reset`, 'Reset a password', resetPassword, chosen, done],
    ],
    own: [
      [`POST ${beside}password/set`, 'Ask for a first password', requestPassword, {}, first],
      [`POST ${beside}password/change`, 'Change the password', changePassword, both, changed],
      [`POST ${beside}email/change`, 'Change the address', changeEmail, { email, ...proof }, asked],
      [`POST ${beside}email/confirm`, 'Confirm a new address', confirmEmail, { token }, done],
      [`POST ${beside}account/delete`, 'Delete the account', deleteAccount, proof, deleted],
    ],
    ofOwn,
  }).filter(isOffered)
}
