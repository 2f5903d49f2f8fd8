// What the snippets of README.md may use without declaring it. Each snippet is a module of its own, so
// one that declares a name itself (`const app = Fastify()`) hides the one from here.
import type { FastifyInstance } from 'fastify'
import type { AuthUser, UserService } from 'fastify-authn'

declare global {
  const app: FastifyInstance
  /** The user service of the app. */
  const users: UserService
  /** The secret of the tokens. */
  const secret: string
  const ownerOfKey: (key: string) => Promise<AuthUser | null>
}

// As @fastify/swagger declares it.
declare module 'fastify' {
  interface FastifySchema {
    tags?: readonly string[]
  }
}
