import swagger from '@fastify/swagger'
import swaggerUi from '@fastify/swagger-ui'
import type { FastifyInstance } from 'fastify'
import { demoUsers } from './people.js'

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

declare const SwaggerUIBundle: { plugins: { DownloadUrl: unknown } }
/** The alternatives of a route: a list of Immutable.js. */
interface Security {
  filter(isKept: (alternative: { size: number }) => boolean): Security
}

/**
 * Runs in the browser. Swagger UI takes a route that needs no credentials, but accepts some, for one for which they
 * have been given: its lock would be closed from the start.
 */
const openLocks = (): object => [
  // The plugin of the page's own configuration, which ours replace.
  SwaggerUIBundle.plugins.DownloadUrl,
  {
    statePlugins: {
      auth: {
        wrapSelectors: {
          // A wrapped selector is called without the state.
          isAuthorized:
            (original: (security?: Security) => unknown) => (_: unknown, security?: Security) =>
              original(security?.filter(({ size }) => size > 0)),
        },
      },
    },
  },
]

const [{ email, password }] = demoUsers

/** Lets the page show an address and a password that work at the login routes. */
export const shownLogin = {
  schema: { body: { examples: [{ email, password }] } },
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
        description: `Log in as \`${email}\` with \`${password}\`, and give the token to Authorize. With it, \`POST /keys/\` makes an API key, which Authorize takes too.`,
      },
    },
  })
  // `requireMarks` demands a mark: these routes are meant to be open.
  await app.register(
    async (scope) => {
      await scope.register(swaggerUi, {
        routePrefix: '/docs',
        staticCSP: contentSecurityPolicy,
        uiConfig: { plugins: [openLocks] },
      })
    },
    { auth: false },
  )
}
