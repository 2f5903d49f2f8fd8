// This file names no types of Fastify or Node: pages compile it with those of the DOM alone.

declare module '../browser.js' {
  interface PostBodies {
    /** Removes an account at a provider: one of `get('identities')`. */
    'identities/remove': { readonly issuer: string; readonly subject: string }
  }
  interface GetRoutes {
    /** The accounts of the user at providers. */
    identities: true
  }
}

export {}
