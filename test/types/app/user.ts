// The app says once what its users look like; every other file of the program sees it.
import 'fastify-authn'

declare module 'fastify-authn' {
  interface AuthUser {
    id: number
    name: string
  }

  interface StoredUser {
    password: string
    vip: boolean
  }

  interface RequestExtra {
    tenant?: string
  }

  interface JwtClaims {
    readonly role?: 'admin' | 'member'
  }
}

// As @fastify/rate-limit does it.
declare module 'fastify' {
  interface FastifyContextConfig {
    rateLimit?: { max: number }
  }
}

export interface Row {
  id: number
  name: string
  password: string
  vip: boolean
}

export const rows: readonly Row[] = []
