// Of its own, and without lib: the demo uses the built package, whose declarations must not meet those
// of lib in one program.
import type { FastifyInstance, InjectOptions } from 'fastify'
import type { Test } from 'tap'

export const secret = 'demo-secret-demo-secret-demo-sec'
export const admin = { name: 'root', password: "it's a secret" }

/** Environment variables of a demo that logs nothing. */
export function environment(
  keysDir: string,
  more: Record<string, string> = {},
): Record<string, string> {
  return {
    LOG_LEVEL: 'silent',
    DEMO_KEYS_DIR: keysDir,
    AUTH_JWT_SECRET: secret,
    AUTH_BASIC_USERNAME: admin.name,
    AUTH_BASIC_PASSWORD: admin.password,
    ...more,
  }
}

/** An `Authorization` header of Basic. */
export function basic(user: { name: string; password: string }): { authorization: string } {
  const pair = Buffer.from(`${user.name}:${user.password}`).toString('base64')
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
  { name, password }: { name: string; password: string },
): Promise<{ authorization: string }> {
  const payload = { username: name, password }
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

/** The header of a token: RFC 7515 §4. */
export function headerOf({ authorization }: { authorization: string }): unknown {
  const [header = ''] = authorization.slice('Bearer '.length).split('.')
  return JSON.parse(Buffer.from(header, 'base64url').toString())
}
