import { request as httpRequest, type Agent, type IncomingHttpHeaders } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { isDeepStrictEqual } from 'node:util'
import type { FastifyInstance, FastifyRequest, LightMyRequestResponse } from 'fastify'
import type { Test } from 'tap'
import type { UserService } from '../../lib/index.js'
import { userFromContext } from '../../lib/request/context.js'

/** What every rejection and every challenge says where no realm is configured. */
export const realm = 'Authorization required'
export const basicChallenge = `Basic realm="${realm}", charset="UTF-8"`
export const bearerChallenge = `Bearer realm="${realm}"`
export const tokenChallenge = (description: string): string =>
  `${bearerChallenge}, error="invalid_token", error_description="${description}"`

export const messages = {
  invalid: 'Invalid credentials.',
  none: 'Invalid or missing authentication header.',
  notAccepted: 'This route does not accept these credentials.',
  loggedOut: 'You were logged out.',
  jwtInvalid: 'Your authentication token is invalid.',
  jwtEarly: 'Your authentication token is not valid yet.',
  jwtExpired: 'Your authentication token is expired.',
}

/** An assertion only of what differs: one takes tap 0.2 ms, and the matrices compare thousands of responses. */
export function same(t: Test, found: object, wanted: object, message: string): void {
  if (!isDeepStrictEqual(found, wanted)) t.strictSame(found, wanted, message)
}

/** The name of the user of a request. */
export function nameOf({ user }: { user: { name?: unknown } | null }): unknown {
  return user?.name ?? null
}

/** A handler that says who it sees, and remembers its runs. */
export function probe() {
  const runs: string[] = []
  return {
    runs,
    handler: (request: FastifyRequest) => {
      runs.push(`${request.method} ${request.url}`)
      return { user: nameOf(request), context: nameOf({ user: userFromContext() }) }
    },
    /** The runs since the last call. */
    take: () => runs.splice(0).length,
  }
}
export type Probe = ReturnType<typeof probe>

/** What a rejection must be: every header of it. */
export interface ExpectedRejection {
  status?: number
  error: string
  /** Null: the header must not be there. */
  challenge: string | readonly string[] | null
  /** Null: the string is no message of the catalogue, so its language is not known. */
  language?: string | null
  vary?: string
}

/** A response of inject() or of {@link send}. */
export interface AnyResponse {
  readonly statusCode: number
  readonly headers: LightMyRequestResponse['headers'] | IncomingHttpHeaders
  readonly body: string
}

/** What every comparison of a response looks at. */
function partsOf({ statusCode, body, headers }: AnyResponse) {
  return {
    status: statusCode,
    body,
    challenge: headers['www-authenticate'],
    language: headers['content-language'],
    cache: headers['cache-control'],
  }
}

export function isRejection(
  t: Test,
  response: AnyResponse,
  { status = 401, error, challenge, language = 'en', vary = 'Accept-Language' }: ExpectedRejection,
  message = 'rejected',
): void {
  const { 'content-type': type, vary: foundVary } = response.headers
  same(
    t,
    { ...partsOf(response), type, vary: foundVary },
    {
      status,
      body: JSON.stringify({ error }),
      challenge: challenge ?? undefined,
      language: language ?? undefined,
      cache: 'no-store',
      type: 'application/json; charset=utf-8',
      vary,
    },
    message,
  )
}

/** A success of the handler of {@link probe}: nothing of a rejection is in it. */
export function isWelcome(t: Test, response: AnyResponse, name: unknown, message = 'passed'): void {
  const body = JSON.stringify({ user: name, context: name })
  const none = { challenge: undefined, language: undefined, cache: undefined }
  same(t, partsOf(response), { status: 200, body, ...none }, message)
}

/** An internal error: a 500 that says nothing of what happened. */
export function isFault(
  t: Test,
  response: AnyResponse,
  code = 'ERR_AUTH_USER_SERVICE',
  message = 'internal error',
): void {
  const { status, body, challenge } = partsOf(response)
  const error = {
    statusCode: 500,
    code,
    error: 'Internal Server Error',
    message: 'The request could not be authenticated because of an internal error.',
  }
  same(
    t,
    { status, body: JSON.parse(body) as object, challenge, type: response.headers['content-type'] },
    { status: 500, body: error, challenge: undefined, type: 'application/json; charset=utf-8' },
    message,
  )
}

/** Listens on a free port of the loopback interface. */
export async function listen(app: FastifyInstance): Promise<number> {
  await app.listen({ host: '127.0.0.1', port: 0 })
  return (app.server.address() as AddressInfo).port
}

interface Sent {
  method?: string
  path: string
  headers?: Record<string, string>
  body?: string
  signal?: AbortSignal
  /** Default: a connection of its own. */
  agent?: Agent
}

/** Sends a request over a real socket of its own. */
export function send(
  port: number,
  { method = 'GET', path, headers = {}, body, signal, agent }: Sent,
): Promise<AnyResponse> {
  return new Promise((resolve, reject) => {
    const request = httpRequest(
      {
        host: '127.0.0.1',
        port,
        method,
        path,
        headers,
        agent: agent ?? false,
        ...(signal && { signal }),
      },
      (response) => {
        const { statusCode = 0, headers } = response
        text(response).then((body) => resolve({ statusCode, headers, body }), reject)
      },
    )
    request.on('error', reject)
    request.end(body)
  })
}

/** The error with which startup fails; undefined when the app starts. */
export async function startupError(
  start: () => unknown,
): Promise<(Error & { code?: unknown }) | undefined> {
  try {
    await start()
    return undefined
  } catch (error) {
    return error as Error
  }
}

/** A promise and what settles it: Promise.withResolvers is not in Node 20. */
export function deferred<T = void>(): {
  promise: Promise<T>
  resolve: (value: T) => void
} {
  let resolve: (value: T) => void = () => undefined
  const promise = new Promise<T>((settle) => {
    resolve = settle
  })
  return { promise, resolve }
}

/** A user service that does what a test wants, whatever the types say. */
export function serviceOf(
  findByUsername: (username: string | number, request: FastifyRequest) => unknown,
): UserService {
  return { findByUsername: findByUsername as UserService['findByUsername'] }
}

/** A user service of whatever users, as one of the users that the app has declared. */
export function anyService(service: UserService<object>): UserService {
  return serviceOf((username, request) => service.findByUsername(username, request))
}
