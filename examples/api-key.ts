// API keys: routes in which users make, list, rotate and revoke their keys, and a route that accepts them.
import Fastify, { type FastifyInstance } from 'fastify'
import { authn, hashPassword, type ApiKeysOptions, type UserService } from 'fastify-authn'
import { memoryApiKeys } from 'fastify-authn/api-keys'
import { bearer, isProgram, loginTip, start } from './support/start.js'

declare module 'fastify-authn' {
  interface AuthUser {
    id: number
    username: string
  }
  interface StoredUser {
    password: string
  }
}

/** What users may grant to their keys. */
const grantable = ['notes:read', 'notes:write'] as const

/** A body that Fastify validates. An owner has no place in it: users make keys for themselves only. */
const newKey = {
  type: 'object',
  required: ['name', 'scopes', 'days'],
  additionalProperties: false,
  properties: {
    name: { type: 'string', minLength: 1, maxLength: 100, pattern: String.raw`^[^\p{Cc}]*$` },
    scopes: { type: 'array', uniqueItems: true, items: { enum: grantable } },
    days: { type: 'integer', minimum: 1, maximum: 365 },
  },
} as const

interface NewKey {
  Body: { name: string; scopes: (typeof grantable)[number][]; days: number }
}
interface KeyId {
  Params: { id: string }
}

const inDays = (days: number): Date => new Date(Date.now() + days * 86_400_000)

export async function buildApp(
  userService: UserService,
  store: ApiKeysOptions['store'] = memoryApiKeys(),
): Promise<FastifyInstance> {
  const app = Fastify()
  await app.register(authn, {
    userService,
    jwt: { secret: process.env.AUTH_JWT_SECRET },
    apiKeys: { prefix: 'notes_test', store, header: 'x-api-key' },
  })
  const { apiKeys } = app.authn

  // People use tokens here, and never a key: one that leaks must not make others. Keys belong to an id, never to a name:
  // whoever has that name later would get them.
  await app.register(
    async (own) => {
      own.addHook('onSend', async (_, reply) => void reply.header('cache-control', 'no-store'))
      own.post<NewKey>('/', { schema: { body: newKey } }, async ({ user, body }, reply) => {
        const { name, scopes, days } = body
        const owner = Number(user?.id)
        const made = await apiKeys.issue({ owner, name, scopes, expiresAt: inDays(days) })
        return reply.code(201).send(made) // the only response with the key itself
      })
      own.get('/', ({ user }) => apiKeys.list(Number(user?.id)))
      own.post<KeyId>('/:id/rotate', async ({ user, params }, reply) => {
        const owner = Number(user?.id)
        const made = await apiKeys.rotate(params.id, { overlap: 86_400, owner })
        return made === null ? reply.callNotFound() : reply.code(201).send(made)
      })
      own.delete<KeyId>('/:id', async ({ user, params }, reply) => {
        const isDone = await apiKeys.revoke(params.id, { owner: Number(user?.id) })
        return isDone ? reply.code(204).send() : reply.callNotFound()
      })
    },
    { prefix: '/my/keys', auth: { use: 'jwt' } },
  )

  const readers = { use: ['jwt', 'apiKey'], scope: 'notes:read' } as const
  app.get('/notes', { config: { auth: readers } }, ({ user, extra }) => ({
    reader: user.username,
    key: extra.apiKey?.name ?? null,
  }))
  return app
}

if (isProgram(import.meta.url)) {
  const alice = { id: 1, username: 'alice', password: await hashPassword('wonderland-1865') }
  const body = JSON.stringify({ name: 'my laptop', scopes: ['notes:read'], days: 90 })
  await start(
    await buildApp({
      findByUsername: (name) => (name === alice.id || name === alice.username ? alice : null),
    }),
    loginTip('alice', 'wonderland-1865'),
    `KEY=$(curl -s $URL/my/keys ${bearer} --json '${body}' | node -p 'JSON.parse(fs.readFileSync(0)).key')`,
    'curl -i $URL/notes -H "Authorization: Bearer $KEY"',
    'curl -i $URL/notes -H "X-API-Key: $KEY"',
    `curl -s $URL/my/keys ${bearer}`,
  )
}
