// What tests of the examples and of the demo send. They use the built package, whose declarations must not meet those of
// lib in one program.
import type { FastifyInstance, InjectOptions } from 'fastify'
import type { Test } from 'tap'

/** A user of an app: one with an address logs in by it. */
export interface Credentials {
  readonly name: string
  readonly email?: string
  readonly password: string
}

/** An `Authorization` header of Basic. */
export function basic(user: Credentials): { authorization: string } {
  const pair = Buffer.from(`${user.email ?? user.name}:${user.password}`).toString('base64')
  return { authorization: `Basic ${pair}` }
}

/** An `Authorization` header of Bearer. */
export function bearer(token: string): { authorization: string } {
  return { authorization: `Bearer ${token}` }
}

export type Answer = (
  request: InjectOptions & { url: string },
  status: number,
  body: unknown,
  headers?: Record<string, unknown>,
) => Promise<void>

/** Sends requests; the status, the whole body and the headers that are named must be as given. */
export function expectAnswer(t: Test, app: FastifyInstance): Answer {
  return async (request, status, body, headers = {}) => {
    const name = `${request.method ?? 'GET'} ${request.url}`
    const response = await app.inject(request)
    const isJson = String(response.headers['content-type']).startsWith('application/json')
    t.match({ status: response.statusCode, headers: response.headers }, { status, headers }, name)
    t.strictSame(isJson ? response.json() : response.body, body, `${name}: body`)
  }
}

/** Logs in with JSON, and returns the header for the requests that follow. */
export async function login(
  t: Test,
  app: FastifyInstance,
  path: string,
  { name, email, password }: Credentials,
): Promise<{ authorization: string }> {
  const payload = email === undefined ? { username: name, password } : { email, password }
  const response = await app.inject({ method: 'POST', url: path, payload })
  t.match(
    { status: response.statusCode, headers: response.headers },
    { status: 200, headers: { 'cache-control': 'no-store' } },
    `POST ${path}`,
  )
  const body = response.json<{ token: string }>()
  t.strictSame(Object.keys(body), ['token'])
  return bearer(body.token)
}
