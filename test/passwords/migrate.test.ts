import bcryptPackage from 'bcrypt'
import t, { type Test } from 'tap'
import { channels, hashPassword, type AuthnOptions, type RehashEvent } from '../../lib/index.js'
import { argon2 } from '../../lib/passwords/kinds/argon2.js'
import { bcrypt } from '../../lib/passwords/kinds/bcrypt.js'
import { scrypt } from '../../lib/passwords/kinds/scrypt.js'
import { appWith, fastify, logLines, secret, type TestUser } from '../helpers/app.js'
import { authn } from '../../lib/index.js'
import { login, until } from '../helpers/load.js'
import { rejectionOf } from '../helpers/errors.js'

const small = { algorithm: 'argon2id', memory: 1024, passes: 2 } as const
const legacy = {
  pattern: /^plain:/,
  sample: 'plain:sample',
  verify: (password: string, stored: string) => stored === `plain:${password}`,
}

const table = async (): Promise<TestUser[]> => {
  const stored = [
    await hashPassword('wonderland', small),
    await hashPassword('wonderland', { ...small, passes: 1 }),
    bcryptPackage.hashSync('wonderland', 4),
    'plain:wonderland',
    await hashPassword('wonderland', { algorithm: 'scrypt', cost: 10 }),
    null,
    'broken',
  ]
  return stored.map((password, id) => ({ id, name: `user${id}`, password: password as string }))
}

async function setting(t: Test, hashing: AuthnOptions['hashing'], people: TestUser[]) {
  return appWith(t, {
    jwt: { secret },
    hashing,
    throttle: false,
    userService: {
      findByUsername: (name) => people.find((each) => each.name === name) ?? null,
      updatePasswordHash: (user, hash) => void Object.assign(user, { password: hash }),
    },
  })
}

/** Counts the work of each kind, in its unit. */
function watchWork(t: Test) {
  const work = { bcrypt: 0, argon2: 0, foreign: 0 }
  const { compare } = bcryptPackage
  bcryptPackage.compare = (async (password: string, stored: string) => {
    work.bcrypt += 2 ** bcryptPackage.getRounds(stored)
    return compare(password, stored)
  }) as typeof compare
  t.teardown(() => Object.assign(bcryptPackage, { compare }))
  const { matches, spend } = argon2
  t.intercept(argon2, 'matches', {
    value: (...args: Parameters<typeof matches>) => {
      work.argon2 += argon2.work(args[1].strength)
      return matches(...args)
    },
  })
  t.intercept(argon2, 'spend', {
    value: (...args: Parameters<typeof spend>) => {
      work.argon2 += argon2.work(args[1])
      return spend(...args)
    },
  })
  return { work }
}

t.test('each rejection does the work of every profile once for each spelling', async (t) => {
  const people = (await table()).filter(({ id }) => id !== 4)
  const { work } = watchWork(t)
  const verify = (password: string, stored: string): boolean => {
    work.foreign += 1
    return legacy.verify(password, stored)
  }
  const migrateFrom = [{ algorithm: 'bcrypt', cost: 5 } as const, { ...legacy, verify }]
  const app = await setting(t, { ...small, migrateFrom }, people)
  const rows = [...people.map(({ name }) => name), 'unknown'].map((name) => [name, 'wrong'])
  for (const [name = '', password = ''] of [
    ...rows,
    ['user2', 'x'.repeat(100)],
    ['user0', 'x'.repeat(600)],
    // Compared in NFC, and as they were typed. Of the last ones, one of the two is too long, or both.
    ...rows.map(([name]) => [name, 'a\u0308']),
    ...['user2', 'unknown'].map((name) => [name, 'a\u0308'.repeat(30)]),
    ...['user2', 'unknown'].map((name) => [name, '\u0958'.repeat(20)]),
    ...['user0', 'unknown'].map((name) => [name, '\u0958'.repeat(100)]),
    ...['user0', 'unknown'].map((name) => [name, 'a\u0308'.repeat(400)]),
  ]) {
    const times = password === password.normalize('NFC') ? 1 : 2
    const expected = { bcrypt: times * 32, argon2: times * 2048, foreign: times }
    Object.assign(work, { bcrypt: 0, argon2: 0, foreign: 0 })
    t.equal((await login(app, name, password)).statusCode, 401, name)
    t.strictSame(work, expected, `${name} ${password.length}`)
    Object.assign(work, { bcrypt: 0, argon2: 0, foreign: 0 })
    const stored = people.find((each) => each.name === name)?.password
    t.equal(await app.authn.verifyPassword(password, stored), false)
    t.strictSame(work, expected, `${name} by hand`)
  }
  Object.assign(work, { bcrypt: 0, argon2: 0, foreign: 0 })
  t.equal((await login(app, 'user0', 'wonderland')).statusCode, 200)
  t.strictSame(work, { bcrypt: 0, argon2: 2048, foreign: 0 }, 'a success pays for its own')
})

t.test('every kind moves to the new algorithm at a login, with an event', async (t) => {
  const people = await table()
  const events: RehashEvent[] = []
  const listener = (event: RehashEvent): void => void events.push(event)
  channels.rehash.subscribe(listener)
  t.teardown(() => channels.rehash.unsubscribe(listener))
  const app = await setting(t, { ...small, migrateFrom: [legacy] }, people)
  for (const { name } of people.slice(0, 5)) {
    t.equal((await login(app, name, 'wonderland')).statusCode, 200, name)
  }
  await until(() => events.length === 4, 'they are stored')
  const found = events.map(({ from, to }) => `${from} ${to}`)
  t.strictSame(found, ['argon2id argon2id', 'bcrypt argon2id', 'other argon2id', 'scrypt argon2id'])
  t.notMatch(JSON.stringify(events.map(({ user }) => user)), /\$|plain/)
  t.match(app.authn.stats().hashing, { memory: 0, replaced: 4 })
  for (const { name, password } of people.slice(0, 5)) {
    t.equal(app.authn.needsRehash(password), false)
    t.equal((await login(app, name, 'wonderland')).statusCode, 200, name)
    t.equal((await login(app, name, 'wrong')).statusCode, 401, name)
  }
  const back = await setting(t, { cost: 4 }, people)
  t.equal((await login(back, 'user0', 'wonderland')).statusCode, 200)
  await until(() => String(people[0]?.password).startsWith('$2b$04$'), 'it went back')
})

t.test('a verify that fails is a 500, one that never settles a 503', async (t) => {
  const user = { id: 1, name: 'alice', password: 'plain:x' }
  const options = (verify: unknown, userServiceTimeout?: number): AuthnOptions => ({
    jwt: { secret },
    userServiceTimeout,
    hashing: { ...small, migrateFrom: [{ ...legacy, verify: verify as () => boolean }] },
    userService: { findByUsername: () => user },
  })
  for (const answer of [undefined, 1, 'true', null]) {
    const app = await appWith(
      t,
      options(() => answer),
    )
    t.equal((await login(app, 'alice', 'x')).statusCode, 500, String(answer))
  }
  const app = await appWith(
    t,
    options(() => new Promise(() => undefined), 0.05),
  )
  t.equal((await login(app, 'alice', 'x')).statusCode, 503)
  t.equal(app.authn.stats().hashing.running, 1, 'its place stays taken')
})

t.test('startup fails for options that cannot work', async (t) => {
  const rows: [hashing: unknown, message: RegExp][] = [
    [null, /"hashing".*null/],
    [{ algorithm: 'md5' }, /"hashing\.algorithm".*bcrypt, argon2id, scrypt/],
    [{ algorithm: 'argon2id', cost: 12 }, /"hashing\.cost"/],
    [{ memory: 65_536 }, /"hashing\.memory"/],
    [{ algorithm: 'scrypt', memory: 65_536 }, /"hashing\.memory"/],
    [{ algorithm: 'argon2id', blockSize: 8 }, /"hashing\.blockSize"/],
    [{ algorithm: 'scrypt', cost: 131_072 }, /found 131072.*the binary logarithm: 17/],
    [{ algorithm: 'scrypt', cost: 17, blockSize: 1 }, /"hashing\.cost".*RFC 7914/],
    [{ algorithm: 'argon2id', memory: 19 }, /found 19,.*KiB: 19456 for 19 MiB/],
    [{ algorithm: 'argon2id', memory: 300_000 }, /"hashing\.maxMemory"/],
    [{ algorithm: 'argon2id', memory: 262_144, passes: 5 }, /4 times "hashing\.maxMemory"/],
    [{ maxCost: 9 }, /"hashing\.maxCost"/],
    [{ migrateFrom: [{ algorithm: 'bcrypt', cost: 10 }] }, /migrateFrom\.0\.algorithm/],
    [
      { ...small, migrateFrom: [{ algorithm: 'bcrypt' }, { algorithm: 'bcrypt' }] },
      /migrateFrom\.1/,
    ],
    [{ migrateFrom: [{}] }, /neither "algorithm" nor "pattern"/],
    [{ migrateFrom: [{ ...legacy, algorithm: 'scrypt' }] }, /both/],
    [{ migrateFrom: [{ ...legacy, pattern: 'x' }] }, /migrateFrom\.0\.pattern/],
    [{ migrateFrom: [{ ...legacy, pattern: /^plain:/g }] }, /\.0\.pattern".*found \/\^plain:\/g/],
    [{ migrateFrom: [{ ...legacy, sample: 'other' }] }, /migrateFrom\.0\.sample/],
    [{ migrateFrom: [{ ...legacy, pattern: /./, sample: `$2b$10$${'a'.repeat(53)}` }] }, /sample/],
    [{ migrateFrom: [{ ...legacy, verify: true }] }, /migrateFrom\.0\.verify/],
    [{ migrateFrom: Array.from({ length: 5 }, () => legacy) }, /at most 4/],
    [{ pepper: 'x' }, /unknown option "hashing\.pepper"/],
  ]
  for (const [hashing, message] of rows) {
    const app = fastify(t)
    const found = await rejectionOf(
      (async () => app.register(authn, { hashing } as AuthnOptions))(),
    )
    t.equal(found.code, 'ERR_AUTH_OPTION', JSON.stringify(hashing))
    t.match(found.message, message)
  }
})

t.test('in production, parameters below those of OWASP are warned about', async (t) => {
  const { NODE_ENV: before } = process.env
  process.env.NODE_ENV = 'production'
  t.teardown(() => void (process.env.NODE_ENV = before ?? ''))
  const rows: [AuthnOptions['hashing'], number][] = [
    [{ cost: 9 }, 1],
    [small, 1],
    [{ algorithm: 'scrypt', cost: 12 }, 1],
    [{ algorithm: 'scrypt' }, 0],
    [{ algorithm: 'argon2id' }, 0],
    [{}, 0],
  ]
  for (const [hashing, warnings] of rows) {
    const { lines, stream } = logLines()
    await fastify(t, { logger: { level: 'warn', stream } }).register(authn, { hashing })
    t.equal(lines.filter(({ msg }) => /OWASP/.test(String(msg))).length, warnings)
  }
})

t.test('makeup of scrypt is within its work', async (t) => {
  const stored = scrypt.parse(await hashPassword('x', { algorithm: 'scrypt', cost: 10 }))
  const wanted = { ...scrypt.defaults, cost: 12 }
  const [run, ...others] = scrypt.missing(wanted, stored)
  t.ok(run && scrypt.memory(run) <= scrypt.memory(wanted))
  t.strictSame(others, [])
  t.equal(bcrypt.memory(bcrypt.defaults), 0)
})

t.test('with scrypt, every wrong password and unknown name is a 401', async (t) => {
  const scrypt = { algorithm: 'scrypt', cost: 12 } as const
  const equal = await hashPassword('wonderland', scrypt)
  const people = (await table()).filter(({ id }) => id !== 3)
  people.push({ id: 7, name: 'user7', password: equal })
  const app = await setting(t, scrypt, people)
  for (const { name } of [...people, { name: 'unknown' }]) {
    t.equal((await login(app, name, 'wrong')).statusCode, 401, name)
  }
  t.equal((await login(app, 'user4', 'wonderland')).statusCode, 200)
})

t.test('app.authn.hashPassword() makes hashes of the options of the app', async (t) => {
  const app = await setting(t, small, [])
  const stored = await app.authn.hashPassword('wonderland')
  t.match(stored, /^\$argon2id\$v=19\$m=1024,t=2,p=1\$/)
  t.equal(app.authn.needsRehash(stored), false)
  t.equal(await app.authn.verifyPassword('wonderland', stored), true)
  for (const password of ['', 'x'.repeat(513), 1 as never]) {
    t.match(await rejectionOf(app.authn.hashPassword(password)), { code: 'ERR_AUTH_OPTION' })
  }
})
