// Runs the SQL and the entries of docs/guides/migrating-hashes.md on hashes that the frameworks themselves have made: Django
// 5.2.19, Werkzeug 3.1.9, passlib 1.7.4, @adonisjs/hash 10.1.1, @better-auth/utils 0.5.1; those of Laravel and Spring are the
// same ones with their prefix.
import { scryptSync } from 'node:crypto'
import { readFileSync } from 'node:fs'
import path from 'node:path'
import bcrypt from 'bcrypt'
import Fastify from 'fastify'
import { authn, type StoredUser } from 'fastify-authn'
import t from 'tap'
import { openEmbedded } from '../demo/embedded.js'
import { betterAuth, djangoBcryptSha256, djangoPbkdf2, werkzeugPbkdf2 } from './foreign-hashes.js'
import { root } from '../../test/helpers/project.js'

interface Row extends StoredUser {
  name: string
  password: string
}

const password = 'wonderland-1865'
const bcryptHash = '$2b$04$8CSwltnWiOxMvF1Zofmopepou6eve32FZVyTT95hdOn2jLiE3Jzxq'
const argon2Hash =
  '$argon2id$v=19$m=1024,t=1,p=4$710rJUTo/b83JiSEUIpRCg$lVhlkWmOqP00tLNiGwHqhxVRViSm6TFYwruHGEC6GtY'

/** What is read as it is after the SQL of the page. */
const own: Readonly<Record<string, string>> = {
  'Laravel bcrypt': bcryptHash.replace('$2b$', '$2y$'),
  'Laravel argon2id': argon2Hash,
  'passlib bcrypt': bcryptHash,
  'passlib argon2': argon2Hash,
  'passlib scrypt':
    '$scrypt$ln=10,r=8,p=1$S2kNIQRACEGIsRZiDGGM8Q$6+AHmS4pBu0qyCs9KG4b7sPusaEd+Eqh2OZtjMaF/lI',
  'Spring bcrypt': `{bcrypt}${bcryptHash.replace('$2b$', '$2a$')}`,
  'Spring argon2': `{argon2@SpringSecurity_v5_8}${argon2Hash}`,
  'AdonisJS bcrypt': '$bcrypt$v=98$r=4$SCy4Ax91Tmhl56DyU6qCMg$CC5SrU8oJ8cPOu32xmXnHjF3xKcWVOQ',
  'AdonisJS bcrypt, cost 10':
    '$bcrypt$v=98$r=10$RWcDQiBNKtKN4Qm9J06syA$Jcbg7gukAg56yHxvGkCgqNfDsKKemm0',
  'AdonisJS argon2':
    '$argon2id$v=19$m=1024,t=2,p=1$zV65peHjkwl46odDJdgoWA$9hq3O4kzbKJIQeMzn2paRdDuVIVayZ8YcjVvZLPf3Hg',
  'AdonisJS scrypt':
    '$scrypt$n=1024,r=8,p=1$fPRj86Cee1jAMLzk46Ve8Q$PjB+AvfhQ5bkSZQ36gR5uGkrZwhZuwCrVbAOUhYkCmQ8IgEPtRkTdRlC0vETD2O4xEYXGb/i/oP4tRP3xxaovg',
  'Django bcrypt': 'bcrypt$$2b$04$m9gwLjIKPK1rbY.GLJHh2.fVWV9JBbcvep4TM6ds/GMOApKda5CQ2',
  'Django argon2':
    'argon2$argon2id$v=19$m=1024,t=1,p=8$VkoycVdLakFQTVV0TlJRZXlxQUdLNg$BCrUahkVJOtUsQvyr0B33tTp9zuC/4oesAQ9abWMAcQ',
  'Django scrypt':
    'scrypt$1024$8mwEqpKmJKCNwSohpAiIZ5$8$5$mkmsGsZmfzQEtWoKHPg/TlB830o4lGjNmuEe+agCOe/YdDZIP0TsHQl55ycwqy5PkeHNWD+ThitbSNrgDluYGQ==',
  'Werkzeug scrypt':
    'scrypt:1024:8:1$m6DCaWS3Zw3DWsix$1dab32bfa2b24b14500c6f95c97096e5c0792272d5feddc66abbfc3f111f273fe5a4540f76fea202945fdc11eb1f55a354b9afc6793e28b2752ec27cbfcb9599',
}

/** What an entry of the page reads. */
const foreign = {
  'Django pbkdf2_sha256': {
    entry: djangoPbkdf2,
    hash: 'pbkdf2_sha256$1000$rvXZWx9VPVuY1RCwvJDPp5$A9mLCQeEiy1nWRJgXlhsxjmQESePRz/sJtnVII9jJqo=',
  },
  'Django bcrypt_sha256': {
    entry: djangoBcryptSha256,
    hash: 'bcrypt_sha256$$2b$04$s6kd2R1.G8ZcX79nVpxQIeJOlFv4OIdlTP4SQSuyT2roTlkEcYz12',
  },
  'Werkzeug pbkdf2': {
    entry: werkzeugPbkdf2,
    hash: 'pbkdf2:sha256:1000$rVn3btcBbQmjsNWq$e8a6d05bf4a15d58fe4b684c336d3fe7f8714adc6bfd46aea8323e044f0a434d',
  },
  'better-auth': {
    entry: betterAuth,
    hash: '87bfb4d6b36eda935aa3b6ad8f295c7b:e4a43b39de429a3b3043e0ed49528fc48be525e7175e98b35049003f3b8cf6ac1c51b773b797198c2fde9e02cb29b4bc40e7ab8316198cedaf07d9ebd9fab013',
  },
} as const
/** better-auth's of a password that NFKC changes. */
const normalized = {
  password: 'ﬁne ①',
  hash: '40c539ea16007f3d20e287be083a5366:ca064393ef5e935a5fef52c3f9a3239ef60fdb9a99659bad69142b38001a728b248f60f84175a2ef250eecc0a68abefb9986757ca9e55aff438bf727863f5e5f',
}

const names = [...Object.keys(own), ...Object.keys(foreign)]
const hashes = [...Object.values(own), ...Object.values(foreign).map(({ hash }) => hash)]
const unhashed = { 'without a password': '', 'Django, unusable': '!Ck2rbYGLJHhfVWV9JBbcvep4TM6ds' }

const page = readFileSync(path.join(root, 'docs/guides/migrating-hashes.md'), 'utf8')
const statements = [...page.matchAll(/^```sql\n([^]*?)^```$/gm)]
  .flatMap(([, text = '']) => text.split(/(?<=;)\s+/))
  .filter((text) => text !== '')
const [widen = '', count = '', ...updates] = statements

const database = await openEmbedded()
t.teardown(() => database.close())
await database.exec('create table users (name text primary key, password varchar(180))')
for (const [name, hash] of [
  ...names.map((name, at) => [name, hashes[at]]),
  ...Object.entries(unhashed),
]) {
  await database.query('insert into users values ($1, $2)', [name, hash])
}

/** The table, by name. */
async function stored(): Promise<Record<string, string>> {
  const { rows } = await database.query<Row>('select name, password from users')
  return Object.fromEntries(rows.map(({ name, password }) => [name, password]))
}

/** By the engines themselves, from the text alone. */
async function isRight(hash: string): Promise<boolean> {
  // The npm package does not read the prefix of PHP.
  if (hash.startsWith('$2')) return bcrypt.compare(password, hash.replace('$2y$', '$2b$'))
  const scrypt = /^\$scrypt\$(?:ln=(\d+)|n=(\d+)),r=(\d+),p=(\d+)\$([\w+/]+)\$([\w+/]+)$/.exec(hash)
  if (scrypt !== null) {
    const [ln = 0, n = 0, r, p] = scrypt.slice(1, 5).map(Number)
    const [salt = '', key = ''] = scrypt.slice(5)
    const N = scrypt[1] === undefined ? n : 2 ** ln
    const expected = Buffer.from(key, 'base64')
    const options = { N, r, p }
    return scryptSync(password, Buffer.from(salt, 'base64'), expected.length, options).equals(
      expected,
    )
  }
  const { verify } = await import('@node-rs/argon2')
  return hash.startsWith('$argon2id$') && verify(hash, password)
}

t.test('the SQL of docs/guides/migrating-hashes.md works', async (t) => {
  t.match(widen, /^ALTER TABLE users /)
  t.match(count, /^SELECT/)
  t.equal(updates.length, 5)

  await t.test('it widens the column', async (t) => {
    const long = 'x'.repeat(181)
    const insert = 'insert into users values ($1, $2)'
    await t.rejects(database.query(insert, ['long', long]), { code: '22001' })
    await database.exec(widen)
    await database.query(insert, ['long', long])
    await database.query('delete from users where name = $1', ['long'])
  })

  const before = await stored()

  await t.test('it counts the hashes by kind', async (t) => {
    const { rows } = await database.query<{ kind: string; users: number }>(count)
    t.strictSame(Object.fromEntries(rows.map(({ kind, users }) => [kind, Number(users)])), {
      $2b$04: 1,
      $2y$04: 1,
      '$argon2id$v=19$m=1024,t=1,p=4': 2,
      '$argon2id$v=19$m=1024,t=2,p=1': 1,
      '$scrypt$ln=10,r=8,p=1': 1,
      '$scrypt$n=1024,r=8,p=1': 1,
      '{bcrypt}$': 1,
      '{argon2@SpringSecurity_v5_8}$': 1,
      bcrypt$: 1,
      argon2$: 1,
      scrypt$: 1,
      'scrypt:1024:8:1$': 1,
      pbkdf2_sha256$1000: 1,
      bcrypt_sha256$: 1,
      'pbkdf2:sha256:1000$': 1,
      none: 1,
      // Those of AdonisJS and better-auth, and the unusable one.
      other: 4,
    })
  })

  await t.test('it makes hashes that verify, and changes nothing else', async (t) => {
    for (const update of updates) await database.exec(update)
    const after = await stored()
    for (const name of Object.keys(own)) t.ok(await isRight(after[name] ?? ''), name)
    for (const name of [...Object.keys(foreign), ...Object.keys(unhashed)]) {
      t.equal(after[name], before[name], name)
    }
    for (const update of updates) await database.exec(update)
    t.strictSame(await stored(), after, 'a second run changes nothing')
  })
})

t.test('the migrateFrom entries of the page verify only their own hashes', async (t) => {
  const entries = Object.values(foreign).map(({ entry }) => entry)
  for (const [name, { entry, hash }] of Object.entries(foreign)) {
    t.equal(await entry.verify(password, hash), true, name)
    t.equal(await entry.verify(`${password}!`, hash), false, `${name}, another password`)
    t.equal(await entry.verify(password, entry.sample), false, `${name}, its sample`)
    const found = entries.filter(({ pattern }) => pattern.test(hash))
    t.strictSame(found, [entry], `${name} matches one`)
    t.match(entry.sample, entry.pattern)
    t.notOk(entry.pattern.test(hash.slice(0, -1)), `${name}, cut off`)
  }
  t.equal(await betterAuth.verify(normalized.password, normalized.hash), true)
})

t.test('every user of the table logs in, and ends on argon2id', async (t) => {
  const app = Fastify()
  t.teardown(() => app.close())
  await app.register(authn, {
    userService: {
      async findByUsername(name) {
        const { rows } = await database.query<Row>(
          'select name, password from users where name = $1',
          [name],
        )
        return rows[0]
      },
      updatePasswordHash: ({ name }, hash, previousHash) =>
        database.query('update users set password = $1 where name = $2 and password = $3', [
          hash,
          name,
          previousHash,
        ]),
    },
    jwt: { secret: 'a'.repeat(8) + '-Wq8ZkP2vR5tY7uI9oL3mN6bX4cV1zQ0s' },
    throttle: false,
    hashing: {
      algorithm: 'argon2id',
      memory: 2048,
      passes: 1,
      // The samples of the page cost as much as the hashes of today.
      migrateFrom: Object.values(foreign).map(({ entry, hash }) => ({ ...entry, sample: hash })),
    },
  })
  const login = async (username: string, password: string): Promise<number> => {
    const payload = { username, password }
    return (await app.inject({ method: 'POST', url: '/login', payload })).statusCode
  }
  for (const name of names) {
    t.equal(await login(name, 'wonderland-1866'), 401, `${name}, another password`)
    t.equal(await login(name, password), 200, name)
    // The login does not wait until it is stored.
    for (let turn = 0; turn < 500; turn += 1) {
      if ((await stored())[name]?.startsWith('$argon2id$v=19$m=2048,')) break
      await new Promise((resolve) => setTimeout(resolve, 10))
    }
    t.match((await stored())[name], /^\$argon2id\$v=19\$m=2048,t=1,p=1\$/, name)
    t.equal(await login(name, password), 200, `${name}, again`)
  }
  for (const name of Object.keys(unhashed)) t.equal(await login(name, password), 401, name)
})
