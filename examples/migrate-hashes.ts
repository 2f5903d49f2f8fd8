// Users who came with hashes of four kinds. Each login replaces one, until all of them are argon2id. It needs Node.js 24.7
// or later, or the package `@node-rs/argon2`.
import Fastify, { type FastifyInstance } from 'fastify'
import { authn, channels } from 'fastify-authn'
import { betterAuth, djangoPbkdf2 } from './recipes/foreign-hashes.js'
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

export interface Row {
  readonly id: number
  readonly username: string
  password: string
}

/** A table in which everyone has the password `wonderland-1865`, hashed by another framework. */
export const importedRows = (): Row[] =>
  [
    // Laravel
    '$2y$10$z4N7KdyMkXvTfwnqql3MKeLankzA9twg4ZTxfYLCOAoRaeVs1yAky',
    // passlib
    '$scrypt$ln=14,r=8,p=1$w7g3pvRey/l/r3VuzTmnFA$24iVanh9owf+rOUj8umawpwn9lWdjw2MR+ENAPoqJ84',
    // Django
    'pbkdf2_sha256$260000$r3wSCIFYJyi0RTmuMVL1ey$tZA7TNJGeA6mRKlpmPVl8BOG9LQJDEMwnsLke14Zbp0=',
    // better-auth
    '87bfb4d6b36eda935aa3b6ad8f295c7b:e4a43b39de429a3b3043e0ed49528fc48be525e7175e98b35049003f3b8cf6ac1c51b773b797198c2fde9e02cb29b4bc40e7ab8316198cedaf07d9ebd9fab013',
  ].map((password, at) => ({
    id: at + 1,
    username: ['alice', 'bob', 'carol', 'dave'][at] ?? '',
    password,
  }))

export async function buildApp(rows: readonly Row[]): Promise<FastifyInstance> {
  const app = Fastify()
  await app.register(authn, {
    userService: {
      findByUsername(username) {
        const row = rows.find((each) => each.username === username)
        return row && { ...row }
      },
      updatePasswordHash({ id }, hash, previousHash) {
        // In SQL: UPDATE … WHERE id = $1 AND password = $2. A password changed meanwhile stays as it is.
        const row = rows.find((each) => each.id === id && each.password === previousHash)
        if (row !== undefined) row.password = hash
      },
    },
    jwt: { secret: process.env.AUTH_JWT_SECRET },
    hashing: {
      algorithm: 'argon2id',
      // Remove an entry when the last user of its kind has logged in: each one makes rejections slower.
      migrateFrom: [
        { algorithm: 'bcrypt', cost: 10 },
        { algorithm: 'scrypt', cost: 14 },
        // A rejection verifies the sample, so it has as many iterations as the hashes of the table.
        { ...djangoPbkdf2, sample: djangoPbkdf2.sample.replace('1000000', '260000') },
        betterAuth,
      ],
    },
  })

  app.get('/me', { config: { auth: true } }, (request) => request.user)
  return app
}

if (isProgram(import.meta.url)) {
  const rows = importedRows()
  channels.rehash.subscribe(({ from, to }) => {
    const left = rows.filter(({ password }) => !password.startsWith('$argon2id$')).length
    console.log(`From ${from} to ${to}; ${left} left.`)
  })
  await start(
    await buildApp(rows),
    ...rows.map(({ username }) => loginTip(username, 'wonderland-1865')),
    `curl -i $URL/me ${bearer}`,
  )
}
