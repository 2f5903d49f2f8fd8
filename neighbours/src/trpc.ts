import { initTRPC, TRPCError } from '@trpc/server'
import { fastifyTRPCPlugin, type CreateFastifyContextOptions } from '@trpc/server/adapters/fastify'
import { TRPC_ERROR_CODES_BY_KEY } from '@trpc/server/rpc'
import Fastify from 'fastify'
import authn, { configFromEnv } from 'fastify-authn'
import { users } from './users.js'

function createContext({ req }: CreateFastifyContextOptions) {
  return { user: req.user }
}

const t = initTRPC.context<typeof createContext>().create()

/** For procedures that need a user. */
const protectedProcedure = t.procedure.use(({ ctx: { user }, next }) => {
  if (!user) throw new TRPCError({ code: 'UNAUTHORIZED' })
  return next({ ctx: { user } })
})

const router = t.router({
  hello: t.procedure.query(({ ctx }) => `Hello, ${ctx.user?.name ?? 'stranger'}!`),
  drafts: protectedProcedure.query(({ ctx }) => [`a draft of ${ctx.user.name}`]),
  news: protectedProcedure.subscription(async function* ({ ctx }) {
    yield `news for ${ctx.user.name}`
  }),
})

export type AppRouter = typeof router

const codes = { 401: 'UNAUTHORIZED', 403: 'FORBIDDEN', 503: 'SERVICE_UNAVAILABLE' } as const

/** A rejection as clients of tRPC expect it. */
function trpcError({ statusCode, message }: { statusCode: number; message: string }) {
  const code = codes[statusCode as keyof typeof codes] ?? 'BAD_REQUEST'
  const data = { code, httpStatus: statusCode }
  return { error: { message, code: TRPC_ERROR_CODES_BY_KEY[code], data } }
}

export async function createApp() {
  const app = Fastify()
  await app.register(authn, {
    ...configFromEnv(),
    userService: users,
    errorBody: (error, { url }) =>
      url.startsWith('/trpc/') ? trpcError(error) : { error: error.message },
  })
  await app.register(fastifyTRPCPlugin, {
    prefix: '/trpc',
    auth: 'optional',
    trpcOptions: { router, createContext },
  })
  return app
}
