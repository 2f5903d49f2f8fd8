import { and, eq, sql } from 'drizzle-orm'
import { drizzle } from 'drizzle-orm/pglite'
import { pgTable, serial, text, uniqueIndex } from 'drizzle-orm/pg-core'
import Fastify from 'fastify'
import authn, { configFromEnv } from 'fastify-authn'

export const members = pgTable(
  'members',
  {
    id: serial().primaryKey(),
    name: text().notNull(),
    passwordHash: text('password_hash').notNull(),
    roles: text().array().notNull().default([]),
  },
  ({ name }) => [uniqueIndex('members_name').on(sql`lower(${name})`)],
)

type Member = typeof members.$inferSelect

export async function createApp(db: ReturnType<typeof drizzle>) {
  const app = Fastify()
  await app.register(authn, {
    ...configFromEnv(),
    passwordField: 'passwordHash',
    userService: {
      async findByUsername(name: string | number) {
        const found = await db
          .select()
          .from(members)
          .where(sql`lower(${members.name}) = lower(${String(name)})`)
        return found[0]
      },
      async updatePasswordHash({ id }: Member, passwordHash: string, previous: string) {
        await db
          .update(members)
          .set({ passwordHash })
          .where(and(eq(members.id, id), eq(members.passwordHash, previous)))
      },
    },
    login: { subject: ({ name }) => name },
  })
  app.get('/me', { config: { auth: true } }, (request) => request.user)
  app.get('/desk', { config: { auth: { role: 'editor' } } }, () => 'the desk')
  return app
}
