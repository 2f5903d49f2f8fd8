import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import {
  Catch,
  Controller,
  Get,
  Module,
  type ArgumentsHost,
  type ExceptionFilter,
  type MiddlewareConsumer,
  type Type,
} from '@nestjs/common'
import { NestFactory } from '@nestjs/core'
import { FastifyAdapter, RouteConfig, type NestFastifyApplication } from '@nestjs/platform-fastify'
import type { FastifyReply, FastifyRequest } from 'fastify'
import authn, { configFromEnv, type AuthnOptions } from 'fastify-authn'
import { createApp } from './nestjs.js'
import { as, credentials, users } from './users.js'

/** An app that does not listen, closed when the test ends. */
async function start(t: TestContext, app: NestFastifyApplication) {
  t.after(() => app.close())
  await app.init()
  const fastify = app.getHttpAdapter().getInstance()
  await fastify.ready()
  return fastify
}

test('Nest: methods with a mark, the user as a parameter, the body of a rejection', async (t) => {
  const app = await createApp()
  const fastify = await start(t, app)
  const status = async (url: string, name?: string) =>
    (await app.inject({ url, headers: name === undefined ? {} : as(name, fastify) })).statusCode
  assert.deepEqual(
    [await status('/notes'), await status('/notes', 'alice'), await status('/notes', 'mallory')],
    [401, 200, 401],
  )
  assert.deepEqual(
    [await status('/notes/drafts', 'alice'), await status('/notes/drafts', 'bob')],
    [200, 403],
  )
  assert.equal(await status('/notes/count'), 200)

  const login = await app.inject({ method: 'POST', url: '/login', payload: credentials })
  const { token } = login.json<{ token: string }>()
  const headers = { authorization: `Bearer ${token}` }
  const list = await app.inject({ url: '/notes', headers })
  assert.deepEqual(list.json(), ['a note of alice'])
  const { message, ...rest } = (await app.inject('/notes')).json<{ message: string }>()
  assert.deepEqual([typeof message, rest], ['string', { statusCode: 401 }])
})

@Controller('class')
@RouteConfig({ auth: true } as never)
class MarkedClass {
  @Get()
  get() {
    return 'in'
  }
}

@Controller('twice')
class MarkedTwice {
  @Get()
  @RouteConfig({ rateLimit: { max: 10 } })
  @RouteConfig({ auth: true })
  get() {
    return 'in'
  }
}

@Controller('method')
class MarkedMethod {
  @Get()
  @RouteConfig({ auth: true })
  get() {
    return 'in'
  }
}

/** What middleware and an exception filter have seen. */
let seen: unknown[] = []

@Catch()
class Filter implements ExceptionFilter {
  catch(error: { code?: string }, host: ArgumentsHost) {
    seen.push(error.code)
    host.switchToHttp().getResponse<FastifyReply>().code(500).send({ filtered: true })
  }
}

function note({ user }: Partial<FastifyRequest>, _reply: unknown, next: () => void) {
  seen.push(user)
  next()
}

/** A module of these controllers, with authentication. */
async function appOf(
  controllers: Type[],
  options?: Pick<AuthnOptions, 'userService' | 'requireMarks' | 'auth'>,
  configure?: (consumer: MiddlewareConsumer) => void,
) {
  @Module({ controllers })
  class TestModule {
    configure = configure
  }
  const quiet = { logger: false } as const
  const adapter = new FastifyAdapter()
  const app = await NestFactory.create<NestFastifyApplication>(TestModule, adapter, quiet)
  await app.register(authn, { ...configFromEnv(), userService: users, ...options })
  return app
}

test('Nest: a mark on a class, or below another @RouteConfig, has no effect', async (t) => {
  const both = [MarkedClass, MarkedTwice]
  const open = await appOf(both)
  await start(t, open)
  for (const url of ['/class', '/twice']) assert.equal((await open.inject(url)).statusCode, 200)

  const requireMarks = { middleware: true }
  await assert.rejects(start(t, await appOf(both, { requireMarks })), {
    code: 'ERR_AUTH_AUDIT',
    message: /GET \/class\n +GET \/twice/,
  })
  // Nest always registers @fastify/middie.
  await assert.rejects(start(t, await appOf([MarkedMethod], { requireMarks: true })), {
    code: 'ERR_AUTH_AUDIT',
    message: /middleware: true/,
  })

  const closed = await appOf(both, { auth: true })
  await start(t, closed)
  for (const url of ['/class', '/twice']) assert.equal((await closed.inject(url)).statusCode, 401)
})

test('Nest: middleware runs before authentication; filters see internal errors only', async (t) => {
  seen = []
  const userService = { findByUsername: () => Promise.reject(new Error('no database')) }
  const app = await appOf([MarkedMethod], { userService }, (consumer) =>
    consumer.apply(note).forRoutes('*path'),
  )
  app.useGlobalFilters(new Filter())
  const fastify = await start(t, app)
  assert.equal((await app.inject('/method')).statusCode, 401)
  assert.deepEqual(seen, [undefined])
  const { body } = await app.inject({ url: '/method', headers: as('alice', fastify) })
  assert.equal(body, '{"filtered":true}')
  assert.deepEqual(seen, [undefined, undefined, 'ERR_AUTH_USER_SERVICE'])
})
