// The routes of sessions in documents: of what lib/openapi/login.ts says of them.
import assert from 'node:assert/strict'
import swagger, { type FastifyDynamicSwaggerOptions } from '@fastify/swagger'
import Fastify from 'fastify'
import {
  jsonSchemaTransform,
  serializerCompiler,
  validatorCompiler,
} from 'fastify-type-provider-zod'
import t from 'tap'
import { authn, type AuthnOptions } from '../../lib/index.js'
import { logLines, standardOptions } from '../helpers/app.js'
import { validated } from '../helpers/documents.js'
import type { AnyResponse } from '../helpers/flows.js'

// oxlint-disable-next-line typescript/no-explicit-any -- documents are deep
type Node = Record<string, any>

const info = { title: 'Test', version: '1.0.0' }
const over = 'Your session is over. Please log in again.'

/** The operations of the routes of sessions, of a document that is valid. */
async function operationsOf(
  options: FastifyDynamicSwaggerOptions,
  given: Partial<AuthnOptions> = {},
): Promise<{ refresh: Node; logout: Node }> {
  const app = Fastify()
  await app.register(swagger, options)
  await app.register(authn, { ...standardOptions(), sessions: true, ...given })
  await app.ready()
  const document = app.swagger() as Node
  await app.close()
  const { result } = await validated(document)
  assert.deepEqual(result, { valid: true })
  return {
    refresh: document.paths['/login/refresh'].post as Node,
    logout: document.paths['/logout'].post as Node,
  }
}

for (const [title, options] of Object.entries({
  '2.0': { swagger: { info } },
  '3.0': { openapi: { openapi: '3.0.3', info } },
  '3.1': { openapi: { openapi: '3.1.0', info } },
} satisfies Record<string, FastifyDynamicSwaggerOptions>)) {
  t.test(`${title}: what refresh and logout take and answer`, async (t) => {
    const { refresh, logout } = await operationsOf(options)
    t.strictSame(Object.keys(refresh.responses), ['200', '400', '401', '429', '503'])
    t.strictSame(Object.keys(logout.responses), ['204', '400', '401', '429', '503'])
    const body = (operation: Node): Node =>
      title === '2.0'
        ? { ...operation.parameters[0] }
        : {
            required: operation.requestBody.required,
            schema: operation.requestBody.content['application/json'].schema,
          }
    t.match(body(refresh), { required: true, schema: { required: ['refreshToken'] } })
    t.match(body(logout), { required: false, schema: { properties: { everywhere: {} } } })
    t.match(JSON.stringify(refresh.responses['401']), over)
    t.match(JSON.stringify(refresh.responses['200']), /refreshToken.*expiresIn/)
    t.strictSame(Object.keys(logout.responses['204']), ['description'])
    t.strictSame([refresh.tags, refresh.summary], [['authentication'], 'Refresh the tokens'])
  })
}

t.test('with cookies no body is needed, and cookies come', async (t) => {
  const options = { openapi: { openapi: '3.1.0', info } }
  const { refresh, logout } = await operationsOf(options, { cookies: true })
  t.strictSame([refresh.requestBody.required, logout.requestBody.required], [false, false])
  t.ok(refresh.responses['403'] && logout.responses['403'])
  t.ok(logout.responses['204'].headers['Set-Cookie'])
})

t.test(
  'beside another schema library, and with what the app says of the login route',
  async (t) => {
    const app = Fastify({ logger: { stream: logLines().stream } })
    t.teardown(() => app.close())
    app.setValidatorCompiler(validatorCompiler)
    app.setSerializerCompiler(serializerCompiler)
    await app.register(swagger, { openapi: { info }, transform: jsonSchemaTransform })
    await app.register(authn, {
      ...standardOptions(),
      sessions: true,
      login: {
        routeOptions: {
          schema: { tags: ['entry'] },
          bodyLimit: 200,
          logLevel: 'warn',
          config: { rateLimit: {} } as object,
          preHandler: () => {
            throw new Error('of the login route alone')
          },
        },
      },
    })
    await app.ready()
    const document = app.swagger() as Node
    t.strictSame(document.paths['/logout'].post.tags, ['entry'])
    t.ok(document.paths['/login/refresh'].post.requestBody)
    const rows = app.authn.routes().map(({ url, mode, isLogin }) => ({ url, mode, isLogin }))
    t.strictSame(rows, [
      { url: '/login', mode: false, isLogin: true },
      { url: '/login/refresh', mode: false, isLogin: false },
      { url: '/logout', mode: false, isLogin: false },
    ])
    t.match(app.authn.printRoutes(), /POST +\/login\/refresh +open/)
    const send = async (refreshToken: string): Promise<AnyResponse> =>
      app.inject({ method: 'POST', url: '/login/refresh', payload: { refreshToken } })
    t.equal((await send('x'.repeat(300))).statusCode, 413)
    t.equal((await send('x')).statusCode, 401, 'and not what the hook of the login route says')
  },
)
