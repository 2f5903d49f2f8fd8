// Types of @fastify/express and @fastify/middie would add `app.use` to the whole program.
import type { FastifyInstance, FastifyPluginCallback } from 'fastify'
import fp from 'fastify-plugin'
import type { IncomingMessage, ServerResponse } from 'node:http'
import t, { type Test } from 'tap'
import { authn, type RequireMarksOptions } from '../../lib/index.js'
import { fastify, standardOptions } from '../helpers/app.js'
import { startupError, listen } from '../helpers/flows.js'

const load = async (name: string): Promise<FastifyPluginCallback> =>
  ((await import(name)) as { default: FastifyPluginCallback }).default
const engines: Record<string, FastifyPluginCallback> = {
  '@fastify/express': await load('@fastify/express'),
  '@fastify/middie': await load('@fastify/middie'),
}
const remedy = /middleware: true/

interface WithUse {
  use(path: string, run: (request: IncomingMessage, response: ServerResponse) => void): void
}

interface Order {
  readonly before?: (app: FastifyInstance) => unknown
  readonly after?: (app: FastifyInstance) => unknown
  readonly requireMarks?: true | RequireMarksOptions | undefined
}

async function start(t: Test, { before, after, requireMarks = true }: Order) {
  const app = fastify(t)
  const error = await startupError(async () => {
    await before?.(app)
    await app.register(authn, { ...standardOptions(), requireMarks, auth: true })
    await after?.(app)
    await app.ready()
  })
  return { app, error }
}

for (const [name, engine] of Object.entries(engines)) {
  t.test(`${name} makes startup fail where marks are required, whatever the order`, async (t) => {
    const add = async (app: FastifyInstance): Promise<void> => {
      await app.register(engine)
    }
    const inside = (app: FastifyInstance) =>
      app.register(async (scope) => add(scope), { prefix: '/inner' })
    const wrapped = (app: FastifyInstance) => app.register(fp(async (scope) => add(scope)))
    const later = (app: FastifyInstance) => void app.register(import(name))
    const orders: Order[] = [
      { before: add },
      { after: add },
      { before: inside },
      { after: inside },
      { before: wrapped },
      { after: wrapped },
      { before: later },
      { after: later },
      { after: add, requireMarks: {} },
      { after: add, requireMarks: { middleware: false } },
    ]
    for (const order of orders) {
      const { error } = await start(t, order)
      t.equal(error?.code, 'ERR_AUTH_AUDIT')
      t.match(error?.message, `found ${name}`)
      t.match(error?.message, remedy)
    }
  })

  t.test(`${name} is allowed by middleware: true, and runs unauthenticated`, async (t) => {
    const { app, error } = await start(t, {
      before: async (app) => {
        await app.register(engine)
        ;(app as unknown as WithUse).use('/legacy', (_request, response) => response.end('legacy'))
      },
      requireMarks: { middleware: true },
    })
    t.equal(error, undefined)
    const answer = await fetch(`http://127.0.0.1:${await listen(app)}/legacy`)
    t.equal(await answer.text(), 'legacy', 'without credentials')
  })

  t.test(`${name} makes startup fail for scopes inside its own, not beside it`, async (t) => {
    for (const [place, expected] of [
      ['around', 'ERR_AUTH_AUDIT'],
      ['beside', undefined],
    ] as const) {
      const app = fastify(t)
      const error = await startupError(async () => {
        if (place === 'around') await app.register(engine)
        await app.register(
          async (scope) => {
            await scope.register(authn, { ...standardOptions(), requireMarks: true })
            scope.get('/', { config: { auth: true } }, () => 'ours')
          },
          { prefix: '/ours' },
        )
        if (place === 'beside') await app.register(async (scope) => void scope.register(engine))
        await app.ready()
      })
      t.equal(error?.code, expected, place)
    }
  })
}
