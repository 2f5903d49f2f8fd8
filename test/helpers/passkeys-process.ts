import Fastify from 'fastify'
import { Pool } from 'pg'
import { authn, type AuthnOptions, type Passkey } from '../../lib/index.js'
import { cost, secret } from './app.js'
import { origin, type PasskeyUser } from './passkeys.js'
import { serve } from './processes.js'

/** The functions of an app over PostgreSQL, with the statements that the documentation shows. */
function passkeysIn(pool: Pool) {
  const all = async (text: string, values: unknown[]) =>
    (await pool.query<{ data: Passkey }>(text, values)).rows
  const one = async (text: string, values: unknown[]) => (await all(text, values))[0]
  return {
    list: async ({ id }: PasskeyUser) =>
      (await all('select data from passkeys where owner = $1', [id])).map((row) => row.data),
    add: async ({ id }: PasskeyUser, passkey: Passkey) =>
      one(
        'insert into passkeys (id, owner, data) values ($1, $2, $3) on conflict do nothing returning id',
        [passkey.id, id, passkey],
      ),
    update: async (_user: PasskeyUser, after: Passkey, before: Passkey) =>
      one('update passkeys set data = $1 where id = $2 and data = $3 returning id', [
        after,
        before.id,
        before,
      ]),
    remove: async (user: PasskeyUser, id: string) =>
      one('delete from passkeys where id = $1 and owner = $2', [id, user.id]),
  }
}

/** A process of a shop in PostgreSQL: started by passkeys/processes.test.ts, which it tells its port. It ends with its parent. */
async function main(): Promise<void> {
  const pool = new Pool({ connectionString: process.env.TEST_DATABASE })
  const app = Fastify({ forceCloseConnections: true })
  await app.register(authn, {
    userService: { findByUsername: (name: string | number) => ({ id: Number(name) }) },
    jwt: { secret },
    hashing: { cost },
    login: { subject: (user: object) => (user as PasskeyUser).id },
    sessions: true,
    throttle: false,
    errorBody: ({ code }) => ({ code }),
    passkeys: { origin, name: 'Shop', ...passkeysIn(pool) },
  } as AuthnOptions)
  app.post<{ Body: { id: number } }>('/begin', (request, reply) =>
    app.authn.sessions.begin(request.body.id, request, reply, { amr: ['mfa'] }),
  )
  await serve(app)
}

void main()
