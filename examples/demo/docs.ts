import swagger from '@fastify/swagger'
import swaggerUi from '@fastify/swagger-ui'
import type { FastifyInstance } from 'fastify'
import { demoUsers } from './users.js'

/** What the page may load: its own files, images that are written into them, and the one style that it makes. */
const contentSecurityPolicy = {
  'default-src': "'self'",
  'style-src': ["'self'", "'sha256-RL3ie0nH+Lzz2YNqQN83mnU0J1ot4QL7b99vMdIX99w='"],
  'img-src': ["'self'", 'data:'],
  'object-src': "'none'",
  'base-uri': "'none'",
  'form-action': "'self'",
  'frame-ancestors': "'none'",
}

const [{ name, password }] = demoUsers

/** Lets the page show a name and a password that work at the login routes. */
export const shownLogin = {
  schema: { body: { examples: [{ username: name, password }] } },
}

/**
 * The OpenAPI document of all routes that are declared later, and a page for it at `/docs`. Nothing here
 * says who may call them: that comes from the marks.
 */
export async function addDocs(app: FastifyInstance): Promise<void> {
  await app.register(swagger, {
    openapi: {
      openapi: '3.1.0',
      info: {
        title: 'fastify-authn demo',
        version: '1.0.0',
        description: `Log in as \`${name}\` with \`${password}\`, and give the token to Authorize.`,
      },
    },
  })
  // Marked, so that the audit knows that its routes are meant to be open.
  await app.register(
    async (scope) => {
      await scope.register(swaggerUi, { routePrefix: '/docs', staticCSP: contentSecurityPolicy })
    },
    { auth: false },
  )
}
