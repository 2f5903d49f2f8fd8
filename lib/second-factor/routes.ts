import * as Type from '@sinclair/typebox/type'
import type { PluginRoute, Responses } from '../http/plugin-route.js'
import { featureRoutes, tokenSchema as token } from '../login/feature-routes.js'
import { belowLogin, besideLogin } from '../login/plugin-routes.js'
import { disable, enable, forgetDevices, logIn, renewCodes, setUp, status } from './handlers.js'
import type { SecondFactorTools } from './tools.js'

export const code = Type.String({ minLength: 1, maxLength: 64 })
const remember = Type.Optional(Type.Boolean())
const codes = { recoveryCodes: Type.Array(Type.String()) }
const secret = { secret: Type.String(), uri: Type.String(), token }
const state = { enabled: Type.Boolean(), recoveryCodes: Type.Integer() }

const described = (content: Type.TProperties, description: string): Responses => ({
  200: Type.Object(content, { description }),
})
const isOn = described(state, 'Whether it is on, and how many recovery codes are left.')
const begun = described(secret, 'What authenticator apps read, and a token for the next step.')
const renewed = described(codes, 'New recovery codes.')
const done = { 204: 'Done.' }

export function secondFactorRoutes(login: string, tools: SecondFactorTools): PluginRoute[] {
  const [below, beside] = [belowLogin, besideLogin].map((place) => place(login, 'second-factor'))
  const shown = {
    200: tools.registration.carrier.schema(true),
    400: 'The body is not valid.',
    403: 'The code is wrong, or was used before.',
  }
  const ended = { ...shown, 401: 'The login has expired.' }
  // `Type.Intersect` would load more of TypeBox.
  const enabled = { ...shown, 200: { type: 'object', allOf: [shown[200], Type.Object(codes)] } }
  return featureRoutes(tools, {
    option: 'secondFactor',
    authenticator: 'second-factor',
    kindOf: () => 'second factor',
    counts: null,
    logins: [logIn, enable],
    open: [[`POST ${below}`, 'Log in with a code', logIn, { token, code, remember }, ended]],
    own: [
      [`GET ${beside}`, 'Show the second factor', status, null, isOn],
      [`POST ${beside}/setup`, 'Begin to set up a second factor', setUp, null, begun],
      [`POST ${beside}/enable`, 'Switch a second factor on', enable, { token, code }, enabled],
      [`POST ${beside}/recovery-codes`, 'Make new recovery codes', renewCodes, null, renewed],
      [`POST ${beside}/forget-devices`, 'Forget all remembered devices', forgetDevices, null, done],
      [`POST ${beside}/disable`, 'Switch the second factor off', disable, null, done],
    ],
  })
}
