// The demo serves it from the package.
export * from 'fastify-authn/browser/passkeys'
