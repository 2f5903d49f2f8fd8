import websocket from '@fastify/websocket'
import Fastify from 'fastify'
import authn, { configFromEnv, type AuthUser } from 'fastify-authn'
import mercurius, { type MercuriusContext } from 'mercurius'
import { users } from './users.js'

declare module 'mercurius' {
  interface MercuriusContext {
    user: AuthUser | null
  }
}

const schema = `
  type Query {
    hello: String!
    drafts: [String!]!
  }
  type Subscription {
    news: String!
  }
`

const resolvers = {
  Query: {
    hello: (_root: unknown, _args: unknown, { user }: MercuriusContext) =>
      `Hello, ${user?.name ?? 'stranger'}!`,
    drafts: (_root: unknown, _args: unknown, context: MercuriusContext) => [
      `a draft of ${requireUser(context).name}`,
    ],
  },
  Subscription: {
    news: {
      subscribe: (_root: unknown, _args: unknown, context: MercuriusContext) =>
        newsFor(requireUser(context)),
    },
  },
}

/** For resolvers that need a user. */
function requireUser({ user }: MercuriusContext): AuthUser {
  if (user === null) {
    throw new mercurius.ErrorWithProps('Please log in.', { code: 'UNAUTHENTICATED' })
  }
  return user
}

async function* newsFor({ name }: AuthUser) {
  yield { news: `news for ${name}` }
}

export async function createApp() {
  const app = Fastify()
  // Before authentication: otherwise connections that are rejected stay open.
  await app.register(websocket, { options: { maxPayload: 1_048_576 } })
  await app.register(authn, { ...configFromEnv(), userService: users })
  await app.register(mercurius, {
    schema,
    resolvers,
    additionalRouteOptions: { config: { auth: 'optional' } },
    context: ({ user }) => ({ user }),
    subscription: {
      context(socket, { user, extra }) {
        // The connection ends with the token.
        const { exp = Infinity } = extra.jwtClaims ?? {}
        const left = Math.min(exp * 1000 - Date.now(), 86_400_000)
        const timer = setTimeout(() => socket.close(4403), left)
        socket.on('close', () => clearTimeout(timer))
        return { user }
      },
    },
  })
  return app
}
