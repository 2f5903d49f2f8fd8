// Users in PostgreSQL, through a pool of `pg`. Usernames are unique whatever their case. It uses the server of
// `DATABASE_URL`, or else one in the process.
import Fastify, { type FastifyInstance } from 'fastify'
import { authn, hashPassword, type StoredUser, type UserService } from 'fastify-authn'
import { Pool } from 'pg'
import { startPostgres } from './support/embedded-postgres.js'
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

export const schema = `
  create table if not exists users (
    id integer generated always as identity primary key,
    username text not null,
    password text not null
  );
  create unique index if not exists users_username on users (lower(username));`

/** @param patience - what a query may take, in milliseconds */
export function createPool(connectionString: string, patience = 5000): Pool {
  const pool = new Pool({
    connectionString,
    max: 10,
    // Each of these waits for ever, by default: for a connection, on the server, and for its answer.
    connectionTimeoutMillis: patience,
    statement_timeout: patience,
    query_timeout: patience + 1000,
  })
  // A connection that breaks while it is idle. The pool makes another; without a listener the event would
  // end the process.
  pool.on('error', (error) => console.error('PostgreSQL:', error.message))
  return pool
}

function userService(pool: Pool): UserService {
  return {
    async findByUsername(username) {
      // By the expression of the index. The name is a parameter, never a part of the text.
      const { rows } = await pool.query<StoredUser>(
        'select id, username, password from users where lower(username) = lower($1)',
        [String(username)],
      )
      return rows[0]
    },
    async updatePasswordHash({ id }, password, previous) {
      // Changes nothing when the password has been changed meanwhile.
      await pool.query('update users set password = $2 where id = $1 and password = $3', [
        id,
        password,
        previous,
      ])
    },
  }
}

/** @param userServiceTimeout - seconds after which a slow database is a 503, and not everybody's wait */
export async function buildApp(pool: Pool, userServiceTimeout = 2): Promise<FastifyInstance> {
  const app = Fastify()
  app.addHook('onClose', () => pool.end())
  await app.register(authn, {
    userService: userService(pool),
    userServiceTimeout,
    jwt: { secret: process.env.AUTH_JWT_SECRET },
    login: {
      // The name as it is stored, however it was typed.
      tokenFunc: (_request, { username }, jwtService) => jwtService.generateToken(username),
    },
  })

  app.get('/me', { config: { auth: true } }, (request) => request.user)
  return app
}

if (isProgram(import.meta.url)) {
  const pool = createPool(process.env.DATABASE_URL || (await startPostgres()).connectionString)
  await pool.query(schema)
  await pool.query(
    'insert into users (username, password) values ($1, $2) on conflict do nothing',
    ['Alice', await hashPassword('wonderland-1865')],
  )
  await start(
    await buildApp(pool),
    loginTip('alice', 'wonderland-1865'),
    `curl -i $URL/me ${bearer}`,
  )
}
