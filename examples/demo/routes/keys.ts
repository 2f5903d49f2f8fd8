import { Type, type TSchema } from '@sinclair/typebox'
import type { ApiKeys } from 'fastify-authn'
import type { FastifyInstance, FastifyReply } from 'fastify'
import { peopleScopes } from '../people.js'
import type { TypeBoxProvider } from '../typebox.js'

const dayInSeconds = 86_400

const params = Type.Object({ id: Type.String() })
// An owner has no place in it: users make keys for themselves only.
const newKey = Type.Object(
  {
    name: Type.String({ minLength: 1, maxLength: 100, pattern: '^[^\\p{Cc}]*$' }),
    scopes: Type.Array(Type.Union(peopleScopes.map((scope) => Type.Literal(scope))), {
      minItems: 1,
      uniqueItems: true,
      examples: [['notes:read']],
    }),
    days: Type.Integer({ minimum: 1, maximum: 365, default: 30 }),
  },
  {
    additionalProperties: false,
    // What the page of the API document fills in.
    examples: [{ name: 'my script', scopes: ['notes:read'], days: 30 }],
  },
)
const rotation = Type.Object(
  { overlap: Type.Integer({ minimum: 0, maximum: 30 * dayInSeconds, default: dayInSeconds }) },
  { additionalProperties: false },
)

const time = Type.Unsafe<Date>({ type: 'string', format: 'date-time' })
const maybe = <T extends TSchema>(schema: T) => Type.Union([schema, Type.Null()])
const made = Type.Object(
  {
    id: Type.String(),
    owner: Type.Union([Type.String(), Type.Number()]),
    name: Type.String(),
    scopes: Type.Unsafe<readonly string[]>({ type: 'array', items: { type: 'string' } }),
    createdAt: time,
    expiresAt: maybe(time),
    lastUsedAt: maybe(time),
    revokedAt: maybe(time),
    replacedBy: maybe(Type.String()),
    key: Type.String({ description: 'The key itself, which is not shown again.' }),
  },
  { description: 'The new key.' },
)
const response = { 201: made }

/** Keys of the user who asks. People have to be logged in for that: a key that leaks must not make others. */
export function keyRoutes(apiKeys: ApiKeys) {
  return async (server: FastifyInstance) => {
    const app = server.withTypeProvider<TypeBoxProvider>()
    const config = { auth: { use: 'jwt' } } as const
    app.addHook('onSend', async (_request, reply) => {
      void reply.header('cache-control', 'no-store')
    })

    app.get('/', { config }, (request) => apiKeys.list(request.user.id))

    const schema = { body: newKey, response }
    app.post('/', { config, schema }, async ({ user, body }, reply) => {
      const { name, scopes, days } = body
      const expiresAt = new Date(Date.now() + days * dayInSeconds * 1000)
      // The only response with the key itself.
      return reply.code(201).send(await apiKeys.issue({ owner: user.id, name, scopes, expiresAt }))
    })

    app.post(
      '/:id/rotate',
      { config, schema: { params, body: rotation, response } },
      async ({ user, params: { id }, body }, reply) => {
        const key = await apiKeys.rotate(id, { owner: user.id, overlap: body.overlap })
        return key === null ? notFound(reply) : reply.code(201).send(key)
      },
    )

    app.delete('/:id', { config, schema: { params } }, async ({ user, params: { id } }, reply) => {
      const isRevoked = await apiKeys.revoke(id, { owner: user.id })
      return isRevoked ? reply.code(204).send() : notFound(reply)
    })
  }
}

/** The same answer for a key of another user: it must not tell that there is such a key. */
function notFound(reply: FastifyReply): FastifyReply {
  return reply.code(404).send({ error: 'You have no such key that works.' })
}
