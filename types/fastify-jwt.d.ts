// The one function of @fastify/jwt that lib/tokens/engine.ts calls. tsconfig.json maps the package to this file, since
// the package's own declarations would type `request.user` for every program that imports fastify-authn.

/** The methods of a Fastify instance that it calls. */
interface Decorated {
  decorate(name: 'jwt', value: unknown): void
  decorateRequest(name: string, value: unknown): void
  decorateReply(name: string, value: unknown): void
}

interface FastifyJwtOptions {
  readonly secret:
    | Buffer
    | string
    | { readonly private: Buffer | string | undefined; readonly public: Buffer | string }
  readonly sign: {
    readonly algorithm: string
    readonly noTimestamp: boolean
    readonly header: { readonly alg: string; readonly typ: string; readonly kid?: string }
  }
  readonly verify: {
    readonly algorithms: readonly string[]
    readonly cache: boolean
    readonly complete: boolean
    readonly ignoreExpiration: boolean
    readonly ignoreNotBefore: boolean
  }
}

declare const fastifyJwt: (
  instance: Decorated,
  options: FastifyJwtOptions,
  next: (error?: Error) => void,
) => void
export default fastifyJwt
