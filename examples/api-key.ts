// API keys: a custom authenticator with a scheme, responses and scopes of its own.
import { createHash, randomBytes, timingSafeEqual } from 'node:crypto'
import Fastify, { type FastifyInstance, type FastifyReply } from 'fastify'
import { authn, AuthenticationError, type Authenticator, type AuthUser } from 'fastify-authn'
import { isProgram, start } from './support/start.js'

declare module 'fastify-authn' {
  interface AuthUser {
    id: number
    username: string
  }
  interface RequestExtra {
    apiKey?: { readonly id: string; readonly scopes: readonly string[] }
  }
}

interface ApiKey {
  readonly owner: AuthUser
  readonly scopes: readonly string[]
  /** SHA-256. A key has 256 random bits, so it cannot be guessed: bcrypt would only cost time. */
  readonly digest: Buffer
}

const sha256 = (text: string): Buffer => createHash('sha256').update(text).digest()
/** `key_<id>_<secret>`: the beginning helps those who look for keys that got into a repository. */
const pattern = /^key_([0-9a-f]{16})_([\w-]{43})$/

/** In an app, a table with the id as its primary key. */
export class ApiKeys {
  readonly #keys = new Map<string, ApiKey>()

  /** @returns the key, which is nowhere else: show it once */
  issue(owner: AuthUser, scopes: readonly string[]): string {
    const id = randomBytes(8).toString('hex')
    const secret = randomBytes(32).toString('base64url')
    this.#keys.set(id, { owner, scopes, digest: sha256(secret) })
    return `key_${id}_${secret}`
  }

  revoke(id: string): void {
    this.#keys.delete(id)
  }

  find(text: string): (ApiKey & { id: string }) | null {
    const [, id = '', secret = ''] = pattern.exec(text) ?? []
    const key = this.#keys.get(id)
    // In constant time: how much of a digest is right must not show.
    const isRight = key !== undefined && timingSafeEqual(key.digest, sha256(secret))
    return isRight ? { id, ...key } : null
  }
}

function apiKeyAuthenticator(keys: ApiKeys): Authenticator<AuthUser> {
  return {
    // The scheme of the header, and of the challenge where the plugin writes the 401.
    scheme: 'ApiKey',
    authenticate(request) {
      const [, text] = /^ApiKey +(.*)$/i.exec(request.headers.authorization ?? '') ?? []
      if (text === undefined) return null
      const key = keys.find(text)
      if (key === null) throw new AuthenticationError('auth.invalid-credentials')
      request.extra.apiKey = key
      return key.owner
    },
    // Our own responses: problem details (RFC 9457) in place of {"error": …}. A 401 has a challenge.
    onUnauthorized({ code, statusCode }, _request, reply) {
      if (statusCode === 401) void reply.header('www-authenticate', 'ApiKey realm="reports"')
      return problem(reply, statusCode, code)
    },
  }
}

function problem(reply: FastifyReply, status: number, code: string): FastifyReply {
  const body = { type: `https://api.example/problems/${code}`, status }
  return reply
    .code(status)
    .header('cache-control', 'no-store')
    .header('content-type', 'application/problem+json')
    .send(JSON.stringify(body))
}

export async function buildApp(keys: ApiKeys): Promise<FastifyInstance> {
  const app = Fastify()
  await app.register(authn, {
    authenticator: apiKeyAuthenticator(keys),
    auth: true,
    access: { scopesOf: (_user, { extra }) => extra.apiKey?.scopes },
  })

  app.get('/reports', { config: { auth: { scope: 'reports:read' } } }, ({ user, extra }) => ({
    reader: user.username,
    scopes: extra.apiKey?.scopes,
  }))
  app.post('/reports', { config: { auth: { scope: 'reports:write' } } }, (_, reply) =>
    reply.code(201).send(),
  )
  // Every key may revoke itself.
  app.delete('/key', (request, reply) => {
    keys.revoke(request.extra.apiKey?.id ?? '')
    return reply.code(204).send()
  })
  return app
}

if (isProgram(import.meta.url)) {
  const keys = new ApiKeys()
  const key = keys.issue({ id: 1, username: 'alice' }, ['reports:read'])
  const header = `-H 'Authorization: ApiKey ${key}'`
  await start(
    await buildApp(keys),
    `curl -i $URL/reports ${header}`,
    `curl -i -X POST $URL/reports ${header}`,
    `curl -i -X DELETE $URL/key ${header}`,
    `curl -i $URL/reports ${header}`,
  )
}
