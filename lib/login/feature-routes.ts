import type { FastifyReply, FastifyRequest, RouteShorthandOptions } from 'fastify'
import * as Type from '@sinclair/typebox/type'
import { sharedOptions, type PluginRoute, type Responses } from '../http/plugin-route.js'
import { sendBody } from './finish.js'
import { moveRoutes } from './route.js'
import { checkBody } from './schema.js'
import type { Registration } from '../feature.js'
import type { Counted } from '../throttle/attempts.js'
import type { Authenticator } from '../../types/authenticator.js'
import type { AuthMark } from '../../types/marks.js'

interface Tools {
  readonly registration: Registration
  readonly resolved: { readonly routeOptions: RouteShorthandOptions }
}

/** @returns the body of the response, whose status it sets if that is not 200; null for a 204 */
export type HandleOf<Own extends Tools, Body> = (
  tools: Own,
  body: Body,
  request: FastifyRequest,
  reply: FastifyReply,
  started: number,
) => Promise<object | null>

/** `body` is null for a route that reads none. */
type Row<Handle> = readonly [
  methodAndPath: string,
  summary: string,
  handle: Handle,
  body: Type.TProperties | null,
  responses: Responses,
]

interface Table<Handle> {
  readonly option: string
  readonly authenticator: string
  kindOf(path: string, summary: string): string
  /** What counts for the address of the client, and where. Passwords and codes count for their user, by `lib/login/`. */
  readonly counts: (Counted & { readonly at: readonly Handle[] }) | null
  readonly logins: readonly Handle[]
  /** Whether a request without a body has the body `{}`. */
  readonly mayLackBody?: boolean
  /** Whether a body with other members is rejected. Default: they are ignored. */
  readonly isStrict?: boolean
  /** Default: how to move the login. */
  readonly ifTaken?: string
  readonly open?: readonly Row<Handle>[]
  /** The handlers of {@link open} that want to know whether a user is logged in. */
  readonly seeing?: readonly Handle[]
  /** The routes for a session of the user. */
  readonly own?: readonly Row<Handle>[]
  /** The responses of all of {@link own}, where they differ from those of most options. */
  readonly ofOwn?: Responses
  /** The mark of {@link own}, where it asks for more than a token. */
  readonly mark?: AuthMark
}

const ofMost = {
  401: 'The credentials are missing or not accepted, or more is needed.',
  403: 'No session of the user.',
}

/** A token for the next step, which may hold the data of an invitation. */
export const tokenSchema = Type.String({ minLength: 1, maxLength: 16_384 })

export function featureRoutes<Own extends Tools, Body>(
  tools: Own,
  table: Table<HandleOf<Own, Body>>,
): PluginRoute[] {
  const { option, authenticator, open = [], own = [], seeing = [], counts } = table
  const { ifTaken = moveRoutes, isStrict = false, mark: ownMark = { use: 'jwt' } } = table
  const { routeOptions } = tools.resolved
  const accepts = [tools.registration.authenticators.get('jwt') as Authenticator]
  return [...open, ...own].map((row) => {
    const [methodAndPath, summary, handle, content, responses] = row
    const [method, path] = methodAndPath.split(' ') as ['GET' | 'POST', string]
    const schema = Type.Object(content ?? {}, { additionalProperties: !isStrict })
    const read = (value: unknown): Body => {
      const body = table.mayLackBody ? (value ?? {}) : value
      if (content !== null) checkBody(schema, body)
      return body as Body
    }
    const isOwn = own.includes(row)
    const reads = {
      mark: isOwn ? ownMark : { use: 'jwt', mode: 'try' as const },
      notes: { responses: { ...(isOwn && { ...ofMost, ...table.ofOwn }), ...responses }, accepts },
    }
    return {
      kind: table.kindOf(path, summary),
      method,
      path,
      option,
      ifTaken,
      ...(content && { body: { schema, read } }),
      givesTokens: table.logins.includes(handle),
      authenticator,
      notes: { responses },
      ...((isOwn || seeing.includes(handle)) && reads),
      options: { ...routeOptions, ...sharedOptions(routeOptions, { summary }) },
      async work(request, reply, started) {
        void reply.header('cache-control', 'no-store')
        const content = read(request.body)
        const counted = counts?.at.includes(handle) ? counts : null
        const work = () => handle(tools, content, request, reply, started)
        const body = await tools.registration.attempts.counting(counted, content, request, work)
        return body === null ? reply.code(204).send() : sendBody(reply, body)
      },
    }
  })
}
