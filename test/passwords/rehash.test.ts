import bcrypt from 'bcrypt'
import t, { type Test } from 'tap'
import { needsRehash, type AuthnOptions, type UserService } from '../../lib/index.js'
import { appWith, basic, logLines, secret, userService, type TestUser } from '../helpers/app.js'
import { deferred, probe, type AnyResponse } from '../helpers/flows.js'
import { hashAtOnce, login, settle, until, watchBcrypt } from '../helpers/load.js'

/** An app whose one user has a hash of cost 4, and a service that takes new ones. */
async function setting(
  t: Test,
  use: 'login' | 'basic',
  update: (user: TestUser, hash: string, previous: string) => unknown,
  hashing: AuthnOptions['hashing'] = { cost: 5 },
  more: AuthnOptions = {},
  atOnce = 4,
) {
  hashAtOnce(t, atOnce)
  const user = { id: 1, name: 'alice', password: bcrypt.hashSync('wonderland', 4) }
  const updates: string[] = []
  const { lines, stream } = logLines()
  const service: UserService<TestUser> = {
    findByUsername: (name) => (name === user.name ? { ...user } : null),
    updatePasswordHash(found, hash, previous) {
      updates.push(hash)
      return update(found, hash, previous)
    },
  }
  const { handler } = probe()
  const app = await appWith(
    t,
    { userService: service, jwt: { secret }, hashing, credentialCache: false, ...more },
    (app) => void app.get('/', { config: { auth: { use: 'basic' } } }, handler),
    { logger: { level: 'info', stream } },
  )
  const enter = (password = 'wonderland', username = 'alice'): Promise<AnyResponse> =>
    use === 'login'
      ? login(app, username, password)
      : app.inject({ url: '/', headers: basic(username, password) })
  return { app, user, updates, lines, enter }
}

const errorsOf = (lines: Record<string, unknown>[]): Record<string, unknown>[] =>
  lines.filter(({ level }) => level === 50)

for (const use of ['login', 'basic'] as const) {
  t.test(`${use} replaces a hash of a lower cost, once`, async (t) => {
    const watch = watchBcrypt(t)
    const { updates, enter, lines, user } = await setting(t, use, (found, hash, previous) => {
      t.strictSame([found.name, previous], ['alice', user.password])
      user.password = hash
    })
    t.equal((await enter()).statusCode, 200)
    t.equal(updates.length, 1)
    t.equal(bcrypt.getRounds(user.password), 5)
    t.equal(needsRehash(user.password, { cost: 5 }), false)
    t.ok(bcrypt.compareSync('wonderland', user.password))
    t.equal((await enter()).statusCode, 200, 'the new one is good')
    t.equal(updates.length, 1)
    const seen = watch.runs.map(({ kind }) => kind)
    t.strictSame(seen, ['compare', 'hash', 'compare'])
    t.strictSame(errorsOf(lines), [])
    for (const part of ['wonderland', user.password, String(updates[0])]) {
      t.notMatch(JSON.stringify(lines), part, 'nothing of it is logged')
    }
  })

  t.test(`${use} replaces no hash of the same or a higher cost, of any variant`, async (t) => {
    for (const stored of ['$2b$', '$2y$', '$2a$']) {
      const { updates, enter, user } = await setting(t, use, () => undefined, { cost: 4 })
      user.password = user.password.replace('$2b$', stored)
      t.equal((await enter()).statusCode, 200)
      user.password = bcrypt.hashSync('wonderland', 6)
      t.equal((await enter()).statusCode, 200)
      t.equal(updates.length, 0)
    }
  })

  t.test(`${use} replaces a hash of a user once at a time`, async (t) => {
    const stored = deferred()
    const watch = watchBcrypt(t, true)
    const { updates, enter } = await setting(t, use, () => stored.promise, undefined, {}, 8)
    const all = [enter(), enter(), enter()]
    await until(() => watch.running.length === 3, 'all are compared')
    watch.hold(false)
    for (const { statusCode } of await Promise.all(all)) t.equal(statusCode, 200)
    t.equal((await enter()).statusCode, 200)
    t.equal(updates.length, 1)
    t.equal(watch.runs.filter(({ kind }) => kind === 'hash').length, 1)
    stored.resolve()
    await settle()
    t.equal((await enter()).statusCode, 200)
    t.equal(updates.length, 2)
  })

  const failure = new Error('read-only database')
  const throwAtOnce = (): never => {
    throw failure
  }
  const broken = { rejects: () => Promise.reject(failure), 'throws at once': throwAtOnce }
  for (const [name, update] of Object.entries(broken)) {
    t.test(`${use} succeeds if updatePasswordHash ${name}, which is logged`, async (t) => {
      const { updates, enter, lines } = await setting(t, use, update)
      t.equal((await enter()).statusCode, 200)
      await until(() => errorsOf(lines).length > 0, 'it is logged')
      t.equal(errorsOf(lines).length, 1)
      t.match(errorsOf(lines)[0], {
        err: { message: 'read-only database' },
        msg: 'The new password hash of a user was not stored',
        reqId: String,
      })
      t.notMatch(JSON.stringify(lines), String(updates[0]))
      t.equal((await enter()).statusCode, 200)
      t.equal(updates.length, 2, 'it is tried again')
    })
  }

  t.test(`${use} does not wait for updatePasswordHash`, async (t) => {
    const { app, updates, enter, lines } = await setting(t, use, () => new Promise(() => undefined))
    t.equal((await enter()).statusCode, 200)
    t.equal((await enter()).statusCode, 200)
    t.equal(updates.length, 1)
    await app.close()
    t.strictSame(errorsOf(lines), [])
  })

  t.test(`${use} replaces no hash while others wait for a password check`, async (t) => {
    const watch = watchBcrypt(t, true)
    const { app, updates, enter } = await setting(t, use, () => undefined, undefined, {}, 1)
    const first = enter()
    await until(() => watch.running.length === 1, 'one runs')
    const second = enter()
    await until(() => app.authn.stats().hashing.waiting === 1, 'one waits')
    watch.running[0]?.finish()
    t.equal((await first).statusCode, 200)
    t.equal(updates.length, 0)
    watch.hold(false)
    t.equal((await second).statusCode, 200)
    t.equal(updates.length, 1)
  })
}

const changes: Record<string, (user: TestUser) => unknown> = {
  'has another password': (user) => (user.password = bcrypt.hashSync('changed', 4)),
  'has no password any more': (user) => Object.assign(user, { password: null }),
  'lacks the field': (user) => Reflect.deleteProperty(user, 'password'),
  'is gone': (user) => (user.name = 'another one'),
}

for (const [name, change] of Object.entries(changes)) {
  t.test(`nothing is stored for a user who ${name} when the hash is ready`, async (t) => {
    const watch = watchBcrypt(t, true)
    const sessions = { sessions: true } as const
    const { enter, user, updates, lines } = await setting(t, 'login', () => 0, undefined, sessions)
    const entered = enter()
    await until(() => watch.running[0]?.kind === 'compare', 'it is compared')
    watch.running[0]?.finish()
    await until(() => watch.running[0]?.kind === 'hash', 'it is hashed')
    change(user)
    watch.hold(false)
    t.equal((await entered).statusCode, 401)
    await settle()
    t.strictSame([updates, errorsOf(lines)], [[], []])
  })
}

t.test('a password that bcrypt would cut is not hashed again', async (t) => {
  const more = { maxPasswordBytes: false } as const
  for (const hashing of [{ cost: 5 }, { algorithm: 'scrypt', cost: 10 }] as const) {
    const { enter, user, updates, lines } = await setting(t, 'login', () => 0, hashing, more)
    const long = 'x'.repeat(73)
    user.password = bcrypt.hashSync(long, 4)
    t.equal((await enter(long)).statusCode, 200)
    await settle()
    t.strictSame([updates, errorsOf(lines)], [[], []])
  }
})

t.test('nothing is hashed again where the user service takes no hashes', async (t) => {
  const watch = watchBcrypt(t)
  const more = { userService: userService() }
  const { enter, lines } = await setting(t, 'login', () => 0, { cost: 5 }, more)
  t.equal((await enter()).statusCode, 200)
  await settle()
  t.strictSame([watch.runs.length, errorsOf(lines)], [1, []])
})

t.test('a login succeeds if hashing its password again fails, which is logged', async (t) => {
  const watch = watchBcrypt(t, true)
  const { enter, lines } = await setting(t, 'login', () => undefined)
  const entered = enter()
  await until(() => watch.running[0]?.kind === 'compare', 'it is compared')
  watch.running[0]?.finish()
  await until(() => watch.running[0]?.kind === 'hash', 'it is hashed')
  watch.running[0]?.fail(new Error('no memory'))
  t.equal((await entered).statusCode, 200)
  t.match(errorsOf(lines), [{ err: { message: 'no memory' } }])
})
