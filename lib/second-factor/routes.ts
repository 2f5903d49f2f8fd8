import * as Type from '@sinclair/typebox/type'
import { sharedOptions, type PluginRoute, type Responses } from '../http/plugin-route.js'
import { sendBody } from '../login/finish.js'
import { belowLogin, besideLogin } from '../login/plugin-routes.js'
import { moveRoutes } from '../login/route.js'
import { checkBody } from '../login/schema.js'
import {
  confirm,
  disable,
  enable,
  forgetDevices,
  logIn,
  renewCodes,
  setUp,
  status,
  type Body,
  type Handle,
} from './handlers.js'
import type { SecondFactorTools } from './tools.js'
import type { Authenticator } from '../../types/authenticator.js'

const token = Type.String({ minLength: 1, maxLength: 16_384 })
const code = Type.String({ minLength: 1, maxLength: 64 })
const remember = Type.Optional(Type.Boolean())
const codes = { recoveryCodes: Type.Array(Type.String()) }
const secret = { secret: Type.String(), uri: Type.String(), token }
const state = { enabled: Type.Boolean(), recoveryCodes: Type.Integer() }

type Row = readonly [summary: string, handle: Handle, responses: Responses, body?: Type.TProperties]

/** The routes by their paths beside the login route. @param tokens - the body of a login */
function rowsOf(tokens: Type.TSchema): Readonly<Record<string, Row>> {
  const done = { 204: 'Done.' }
  const wrong = { 400: 'The body is not valid.' }
  const shown = { 200: tokens, ...wrong, 403: 'The code is wrong, or was used before.' }
  const enabled = { ...shown, 200: Type.Intersect([tokens, Type.Object(codes)]) }
  const described = (content: Type.TProperties, description: string): Responses => ({
    200: Type.Object(content, { description }),
  })
  const isOn = described(state, 'Whether it is on, and how many recovery codes are left.')
  const begun = described(secret, 'What authenticator apps read, and a token for the next step.')
  const renewed = described(codes, 'New recovery codes.')
  return {
    '': ['Show the second factor', status, isOn],
    '/setup': ['Begin to set up a second factor', setUp, begun],
    '/enable': ['Switch a second factor on', enable, enabled, { token, code }],
    '/confirm': ['Confirm that it is you', confirm, shown, { code }],
    '/recovery-codes': ['Make new recovery codes', renewCodes, renewed],
    '/forget-devices': ['Forget all remembered devices', forgetDevices, done],
    '/disable': ['Switch the second factor off', disable, done],
  }
}

const ofSession = {
  401: 'The credentials are missing or not accepted, or the user has to confirm that it is them.',
  403: 'No session of the user.',
}

export function secondFactorRoutes(login: string, tools: SecondFactorTools): PluginRoute[] {
  const { carrier, authenticators } = tools.registration
  const { routeOptions } = tools.resolved
  const tokens = carrier.schema(true)
  const routeOf = (path: string, [summary, handle, responses, content]: Row): PluginRoute => {
    const schema = Type.Object(content ?? {})
    const read = (value: unknown): Body => {
      if (content !== undefined) checkBody(schema, value)
      return value as Body
    }
    return {
      kind: 'second factor',
      method: handle === status ? 'GET' : 'POST',
      path,
      option: 'secondFactor',
      ifTaken: moveRoutes,
      ...(content && { body: { schema, read } }),
      givesTokens: content !== undefined,
      authenticator: 'second-factor',
      notes: { responses },
      options: { ...routeOptions, ...sharedOptions(routeOptions, { summary }) },
      async work(request, reply, started) {
        const body = await handle(tools, request, reply, read(request.body), started)
        return body === null ? reply.code(204).send() : sendBody(reply, body)
      },
    }
  }
  const own = Object.entries(rowsOf(tokens)).map(([name, row]): PluginRoute => {
    const route = routeOf(besideLogin(login, `second-factor${name}`), row)
    const responses = { ...ofSession, ...row[2] }
    const accepts = [authenticators.get('jwt') as Authenticator]
    return { ...route, mark: { use: 'jwt' }, notes: { responses, accepts } }
  })
  const responses = {
    200: tokens,
    400: 'The body is not valid.',
    401: 'The login has expired.',
    403: 'The code is wrong, or was used before.',
  }
  const last: Row = ['Log in with a code', logIn, responses, { token, code, remember }]
  return [routeOf(belowLogin(login, 'second-factor'), last), ...own]
}
