import * as Type from '@sinclair/typebox/type'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { digestOf } from '../common/digest.js'
import { isAuthenticationError } from '../errors/errors.js'
import { channelOf } from '../events.js'
import { bodyCarrier, giveTokens, sendBody } from '../login/finish.js'
import { sharedOptions, type PluginRoute, type RouteBody, type Work } from '../http/plugin-route.js'
import { belowLogin, besideLogin } from '../login/plugin-routes.js'
import { moveRoutes } from '../login/route.js'
import { checkBody } from '../login/schema.js'
import { leavingOf } from './logout.js'
import { refreshSession } from './refresh.js'
import { parseRefreshToken } from './refresh-token.js'
import { revokeSessions, type SessionTools } from './tools.js'
import type { ResolvedLogin } from '../options/resolve.js'
import type { Registration } from '../feature.js'

export function sessionRoutes(
  registration: Registration,
  login: ResolvedLogin,
  tools: SessionTools,
): PluginRoute[] {
  const { authenticators, carrier } = registration
  const rejected = { 401: 'The token is missing or invalid, or its session was revoked.' }
  const handling = (body: RouteBody<SessionBody>, make: typeof refresh) =>
    ({
      method: 'POST',
      option: 'sessions',
      ifTaken: moveRoutes,
      body,
      work: withToken(registration, body, make(registration, tools)),
    }) as const
  return [
    {
      kind: 'refresh',
      options: sharedOptions(login.routeOptions, {
        summary: 'Refresh the tokens',
        description:
          'Exchanges a refresh token for new tokens. Each refresh token can be used once.',
      }),
      path: belowLogin(login.path, 'refresh'),
      ...handling(sessionBody({ refreshToken: text }, carrier !== bodyCarrier), refresh),
      notes: { responses: { 200: carrier.schema(true), ...rejected } },
    },
    {
      kind: 'logout',
      options: sharedOptions(login.routeOptions, {
        summary: 'Log out',
        description:
          'Revokes the session of a token, or with `everywhere` all sessions of its user.',
      }),
      path: besideLogin(login.path, 'logout'),
      // A logout needs no refresh token, since an access token names the session too.
      ...handling(
        sessionBody({ refreshToken: text, everywhere: Type.Boolean({ default: false }) }, true),
        logOut,
      ),
      notes: {
        responses: { 204: 'The session is revoked.', ...rejected },
        accepts: [authenticators.get('jwt') ?? []].flat(),
      },
    },
  ]
}

interface SessionBody {
  readonly refreshToken?: string
  readonly everywhere?: boolean
}

const text = Type.String({ minLength: 1, maxLength: 512 })

function sessionBody(properties: Type.TProperties, isOptional: boolean): RouteBody<SessionBody> {
  const schema = isOptional ? Type.Partial(Type.Object(properties)) : Type.Object(properties)
  return {
    schema,
    read(body) {
      if (isOptional && (body ?? null) === null) return {}
      checkBody(schema, body)
      return body as SessionBody
    },
  }
}

type Use = (
  token: string | null,
  body: SessionBody,
  ...args: Parameters<Work>
) => Promise<FastifyReply>

function refresh(registration: Registration, tools: SessionTools): Use {
  const { carrier } = registration
  return async (token, _body, request, reply, started) => {
    const tokens = await refreshSession(tools, request, token, started)
    // A client that sends its refresh token in the body gets the next one in the body, even if the app uses cookies.
    const used = carrier.refreshToken(request) === null ? bodyCarrier : carrier
    return sendBody(reply, giveTokens(registration, used, request, reply, tokens))
  }
}

function logOut({ name, carrier, tokenSources }: Registration, tools: SessionTools): Use {
  return async (token, { everywhere = false }, request, reply) => {
    const { sid, sub } = await leavingOf(tools, tokenSources, request, token)
    const revoked = await revokeSessions(tools, everywhere ? { sub } : { sid })
    tools.revocations.add(sid, tools.revocationTtl)
    const what = { sid, sub, everywhere, revoked, registration: name }
    channelOf('logout').publish({ request, authenticator: 'logout', ...what })
    carrier.clear(request, reply)
    return reply.code(204).send()
  }
}

function withToken(registration: Registration, { read }: RouteBody<SessionBody>, use: Use): Work {
  return async (request, reply, started) => {
    let token: string | null = null
    try {
      const body = read(request.body)
      registration.carrier.check?.(request, body.refreshToken !== undefined)
      token = registration.carrier.refreshToken(request) ?? body.refreshToken ?? null
      return await use(token, body, request, reply, started)
    } catch (error) {
      return rejectToken(registration, request, reply, token, error)
    }
  }
}

/** Errors that count as a failed attempt. An expired or missing access token does not. */
const isCounted = /^ERR_AUTH_(?:REFRESH_\w+|JWT_INVALID)$/

/**
 * Counts a rejected token, and makes the client delete its tokens.
 * @throws (rejects) the error, or ERR_AUTH_TOO_MANY_ATTEMPTS
 */
export async function rejectToken(
  { carrier, attempts }: Registration,
  request: FastifyRequest,
  reply: FastifyReply,
  token: string | null,
  error: unknown,
): Promise<never> {
  if (!isAuthenticationError(error) || error.statusCode !== 401) throw error
  if (isCounted.test(error.code)) {
    await attempts.countRejectedToken(nameOf(request, token), request)
  }
  // There is no session, so the browser should not keep its tokens.
  carrier.clear(request, reply)
  throw error
}

/** The name under which failures of an address count: the session of a refresh token, or else the token. */
function nameOf({ headers }: FastifyRequest, text: string | null): string {
  const token = text === null ? null : parseRefreshToken(text)
  return digestOf(token?.handle ?? text ?? headers.authorization ?? headers.cookie ?? '')
}
