import * as Type from '@sinclair/typebox/type'
import type { PluginRoute } from '../http/plugin-route.js'
import { featureRoutes, tokenSchema as token } from '../login/feature-routes.js'
import { belowLogin } from '../login/plugin-routes.js'
import { askedSchema } from '../login/schema.js'
import { emailSchema as email } from '../mail/email.js'
import { ask, finish } from './handlers.js'
import type { MailLoginTools } from './tools.js'

/** The members of a body with what an e-mail has. */
export const shown = { token, code: Type.Optional(Type.String({ minLength: 1, maxLength: 64 })) }

export function mailLoginRoutes(login: string, tools: MailLoginTools): PluginRoute[] {
  const { carrier, secondFactor } = tools.registration
  const path = belowLogin(login, 'mail')
  const fields = { token: Type.String(), expiresIn: Type.Integer(), sign: Type.String() }
  const description = 'An e-mail is sent, if the user may log in by one.'
  const invalid = { 400: 'The body is not valid.' }
  const asked = { 202: Type.Object(fields, { description }), ...invalid }
  const ended = {
    200: carrier.schema(true),
    ...(secondFactor && { 202: askedSchema }),
    204: 'The account was created, but is not found yet.',
    ...invalid,
    401: 'The e-mail has expired or was used, or the account has changed.',
    403: 'The code is wrong.',
  }
  return featureRoutes(tools, {
    option: 'mailLogin',
    authenticator: 'mail',
    kindOf: () => 'mail login',
    counts: null,
    logins: [finish],
    open: [
      [`POST ${path}`, 'Ask for an e-mail to log in', ask, { email }, asked],
      [`POST ${path}/finish`, 'Log in by an e-mail', finish, shown, ended],
    ],
  })
}
