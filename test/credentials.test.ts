import bcrypt from 'bcrypt'
import t from 'tap'
import { ABANDONED } from '../lib/client.js'
import { createCredentialCheck as createCheck, type CredentialTools } from '../lib/credentials.js'
import { costOf, isBcryptHash } from '../lib/hashing/shape.js'
import { Gate } from '../lib/hashing/gate.js'
import { CredentialMemory } from '../lib/hashing/memory.js'
import { Throttle } from '../lib/throttle.js'
import type { UserService } from '../lib/index.js'
import { rejectionOf } from './helpers/errors.js'
import { deferred, serviceOf } from './helpers/flows.js'
import {
  fakeLog,
  fakeRequest,
  fateOf,
  settle,
  until,
  watchBcrypt,
  type BcryptWatch,
} from './helpers/load.js'

/** What it answers at once counts as a promise here. */
function createCredentialCheck(tools: CredentialTools) {
  const check = createCheck(tools)
  return async (...args: Parameters<typeof check>) => check(...args)
}

const password = 'wonderland'
const alice = { name: 'alice', password: bcrypt.hashSync(password, 4) }
const usersOf = (...users: { name: string }[]): UserService =>
  serviceOf((username) => users.find(({ name }) => name === username) ?? null)

function throttle(perUsername = 3): Throttle {
  const { log } = fakeLog()
  return new Throttle({ perUsername, perAddress: 100, window: 900, keyPrefix: 'test' }, log)
}

const gateOf = (concurrency = 2): Gate => new Gate({ concurrency, maxQueue: 64, maxWait: 60 })

function toolsOf(more: Partial<CredentialTools> = {}): CredentialTools {
  return {
    userService: usersOf(alice),
    passwordField: 'password',
    maxPasswordBytes: 72,
    userServiceTimeout: undefined,
    cost: 4,
    gate: gateOf(),
    throttle: null,
    memory: null,
    ...more,
  }
}

const wrong = { code: 'ERR_AUTH_INVALID_CREDENTIALS', statusCode: 401 }
/** The hashes that bcrypt was asked to compare with. */
const hashesOf = ({ runs }: BcryptWatch): string[] => runs.map(({ against }) => String(against))

t.test('right credentials give the stored user itself', async (t) => {
  const watch = watchBcrypt(t)
  const check = createCredentialCheck(toolsOf())
  t.equal(await check('alice', password, fakeRequest().request), alice)
  t.strictSame(
    watch.runs.map(({ kind, password, against }) => [kind, password, against]),
    [['compare', password, alice.password]],
  )
})

t.test('whatever is wrong, it is one bcrypt run of the same cost', async (t) => {
  const long = 'x'.repeat(73)
  const users = [
    alice,
    { name: 'long', password: bcrypt.hashSync(long, 4) },
    { name: 'without', password: null },
    { name: 'broken', password: 'plain text' },
  ]
  const rows: [name: string, password: string][] = [
    ['alice', 'wrong'],
    ['alice', ''],
    ['alice', long],
    ['nobody', password],
    ['nobody', long],
    ['without', password],
    ['broken', 'plain text'],
    ['long', long],
  ]
  const check = createCredentialCheck(toolsOf({ userService: usersOf(...users) }))
  for (const [name, given] of rows) {
    await t.test(`${name}, ${given.length} characters`, async (t) => {
      const watch = watchBcrypt(t)
      await t.rejects(check(name, given, fakeRequest().request), wrong)
      t.equal(watch.runs.length, 1)
      t.ok(hashesOf(watch).every((hash) => isBcryptHash(hash) && costOf(hash) === 4))
      t.equal(watch.runs[0]?.password, given)
    })
  }
})

t.test('names that nobody can have are refused without any work', async (t) => {
  const watch = watchBcrypt(t)
  const asked: unknown[] = []
  const userService = serviceOf((name) => void asked.push(name))
  const counting = throttle(1)
  const check = createCredentialCheck(toolsOf({ userService, throttle: counting }))
  const { request } = fakeRequest()
  for (const name of ['', 'a\0b', 'a\nb', '\ud800', 'n'.repeat(1025)]) {
    await t.rejects(check(name, password, request), wrong)
  }
  t.strictSame([asked.length, watch.runs.length, counting.throttled], [0, 0, 0])
})

t.test('a user without the field is a fault, one without a hash a warning', async (t) => {
  const watch = watchBcrypt(t)
  const users = usersOf({ name: 'alice' }, { name: 'bob', password: undefined } as { name: string })
  const check = createCredentialCheck(toolsOf({ userService: users }))
  const { request, lines } = fakeRequest()
  const { code, error } = await rejectionOf(check('alice', password, request))
  t.equal(code, 'ERR_AUTH_PASSWORD_FIELD')
  t.match((error.cause as Error).message, 'The user has no field "password".')
  t.strictSame([watch.runs.length, lines.length], [0, 0])
  await t.rejects(check('bob', password, request), wrong)
  t.strictSame(lines, [
    {
      level: 'warn',
      args: [{ passwordField: 'password' }, 'The stored password of a user is no bcrypt hash'],
    },
  ])
})

t.test('unknown users cost what stored hashes have taught', async (t) => {
  const watch = watchBcrypt(t, true)
  const hashes = [6, 6, 5].map((cost) => bcrypt.hashSync(password, cost))
  const users = hashes.map((hash, index) => ({ name: `user${index}`, password: hash }))
  const userService = usersOf(...users)
  const check = createCredentialCheck(toolsOf({ userService, cost: 12 }))
  const costFor = async (name: string): Promise<number> => {
    const pending = fateOf(check(name, 'wrong', fakeRequest().request))
    await until(() => watch.running.length === 1, 'bcrypt runs')
    const [run] = watch.running
    run?.finish(false)
    await settle()
    t.match(pending, { state: 'rejected', value: wrong })
    return costOf(String(run?.against))
  }
  t.equal(await costFor('nobody'), 12, 'the configured cost, while nothing is known')
  t.equal(await costFor('user0'), 6)
  t.equal(await costFor('nobody'), 6)
  t.equal(await costFor('user1'), 6)
  t.equal(await costFor('user2'), 5)
  t.equal(await costFor('nobody'), 6, 'what most of them have')
  const again = createCredentialCheck(toolsOf({ userService, cost: 12 }))
  const pending = fateOf(again('nobody', 'wrong', fakeRequest().request))
  await until(() => watch.running.length === 1, 'bcrypt runs')
  t.equal(costOf(String(watch.running[0]?.against)), 6, 'also in another use of the service')
  watch.running[0]?.finish(false)
  await settle()
  t.equal(pending.state, 'rejected')
})

t.test('an unknown name has a hash of its own, always the same', async (t) => {
  const watch = watchBcrypt(t)
  const check = createCredentialCheck(toolsOf())
  const { request } = fakeRequest()
  for (const name of ['nobody', 'nobody', 'somebody']) {
    await t.rejects(check(name, password, request), wrong)
  }
  const [first, second, third] = hashesOf(watch)
  t.equal(first, second)
  t.not(first, third)
})

t.test('a broken bcrypt is a fault', async (t) => {
  const watch = watchBcrypt(t, true)
  const counting = throttle(1)
  const check = createCredentialCheck(toolsOf({ throttle: counting }))
  const { request } = fakeRequest()
  const pending = rejectionOf(check('alice', password, request))
  await until(() => watch.running.length === 1, 'bcrypt runs')
  const cause = new Error('no memory')
  watch.running[0]?.fail(cause)
  const { code, error } = await pending
  t.equal(code, 'ERR_AUTH_HASHING')
  t.equal(error.cause, cause)
  watch.hold(false)
  t.equal(await check('alice', password, request), alice, 'that counts as no failure')
})

t.test('longer passwords than bcrypt reads', async (t) => {
  const long = 'x'.repeat(72)
  const userService = usersOf({ name: 'alice', password: bcrypt.hashSync(long, 4) } as {
    name: string
  })
  const { request } = fakeRequest()
  const strict = createCredentialCheck(toolsOf({ userService }))
  t.match(await strict('alice', long, request), { name: 'alice' })
  await t.rejects(strict('alice', `${long}y`, request), wrong)
  const loose = createCredentialCheck(toolsOf({ userService, maxPasswordBytes: false }))
  t.match(await loose('alice', `${long}y`, request), { name: 'alice' })
})

t.test('a refused long password is not remembered', async (t) => {
  const watch = watchBcrypt(t)
  const long = 'x'.repeat(72)
  const userService = usersOf({ name: 'alice', password: bcrypt.hashSync(long, 4) } as {
    name: string
  })
  const memory = new CredentialMemory({ max: 10, ttl: 60 })
  const check = createCredentialCheck(toolsOf({ userService, memory }))
  const { request } = fakeRequest()
  for (const attempt of [1, 2, 3]) {
    await t.rejects(check('alice', `${long}y`, request), wrong)
    t.equal(watch.runs.length, attempt, 'each refusal after the same work')
  }
  t.equal(memory.stats.size, 0)
})

t.test('failures are counted, and refused before any work', async (t) => {
  const watch = watchBcrypt(t)
  const asked: unknown[] = []
  const userService = serviceOf((name) => {
    asked.push(name)
    return name === 'alice' ? alice : null
  })
  const counting = throttle()
  const check = createCredentialCheck(toolsOf({ userService, throttle: counting }))
  const { request } = fakeRequest()
  for (const name of ['alice', 'nobody']) {
    for (let count = 0; count < 3; count += 1) {
      await t.rejects(check(name, 'wrong', request), wrong)
    }
    const before = [watch.runs.length, asked.length]
    await t.rejects(check(name, password, request), {
      code: 'ERR_AUTH_TOO_MANY_ATTEMPTS',
      statusCode: 429,
    })
    t.strictSame([watch.runs.length, asked.length], before, name)
  }
  t.equal(counting.throttled, 2)
})

t.test('a success resets the failures of its name', async (t) => {
  const counting = throttle()
  const check = createCredentialCheck(toolsOf({ throttle: counting }))
  const { request } = fakeRequest()
  for (let round = 0; round < 3; round += 1) {
    await t.rejects(check('alice', 'wrong', request), wrong)
    await t.rejects(check('alice', 'wrong', request), wrong)
    t.equal(await check('alice', password, request), alice)
  }
})

t.test('so does a success that was remembered', async (t) => {
  const counting = throttle()
  const memory = new CredentialMemory({ max: 10, ttl: 60 })
  const check = createCredentialCheck(toolsOf({ throttle: counting, memory }))
  const { request } = fakeRequest()
  for (let round = 0; round < 3; round += 1) {
    await t.rejects(check('alice', 'wrong', request), wrong)
    await t.rejects(check('alice', 'wrong', request), wrong)
    t.equal(await check('alice', password, request), alice)
  }
})

t.test('without failures a success has nothing to forget', async (t) => {
  const counting = throttle()
  const forgets = t.capture(counting, 'succeeded')
  const check = createCredentialCheck(toolsOf({ throttle: counting }))
  await check('alice', password, fakeRequest('192.0.2.1').request)
  t.equal(forgets().length, 0)
  await t.rejects(check('alice', 'wrong', fakeRequest('192.0.2.1').request), wrong)
  await check('alice', password, fakeRequest('192.0.2.2').request)
  t.equal(forgets().length, 0, 'at an address without failures')
})

t.test('who waited at the gate is judged again', async (t) => {
  const watch = watchBcrypt(t, true)
  const tools = toolsOf({ gate: gateOf(1), throttle: throttle(1) })
  const check = createCredentialCheck(tools)
  const { request } = fakeRequest()
  const guesses = ['one', 'two', 'three', 'four']
  const fates = guesses.map((guess) => fateOf(check('alice', guess, request)))
  await until(() => tools.gate.stats.waiting === 3, 'they wait')
  while (fates.some(({ state }) => state === 'pending')) {
    watch.running[0]?.finish()
    await settle()
  }
  const statuses = fates.map(({ value }) => (value as { statusCode: number }).statusCode)
  t.strictSame([statuses[0], ...statuses.slice(2)], [401, 429, 429])
  t.ok(watch.runs.length <= 2, 'no more than one above the limit, where one runs at once')
})

t.test('a client that leaves when its turn has come is dropped', async (t) => {
  const watch = watchBcrypt(t, true)
  const tools = toolsOf({ gate: gateOf(1), throttle: throttle(50) })
  const check = createCredentialCheck(tools)
  const [first, second] = [fakeRequest(), fakeRequest()]
  const fates = [
    fateOf(check('alice', 'one', first.request)),
    fateOf(check('alice', 'two', second.request)),
  ]
  await until(() => tools.gate.stats.waiting === 1, 'one waits')
  t.intercept(tools.throttle as Throttle, 'check', {
    value: async () => {
      second.leave()
      await settle()
    },
  })
  watch.running[0]?.finish()
  await until(() => fates[1]?.state === 'rejected', 'it is dropped')
  t.equal(fates[1]?.value, ABANDONED)
  t.strictSame(watch.passwords(), ['one'])
  t.strictSame(tools.gate.stats, { running: 0, waiting: 0, refused: 0 })
})

t.test('a user service that takes too long', async (t) => {
  const watch = watchBcrypt(t)
  const check = createCredentialCheck(
    toolsOf({
      userService: serviceOf(() => new Promise(() => undefined)),
      userServiceTimeout: 0.01,
    }),
  )
  await t.rejects(check('alice', password, fakeRequest().request), {
    code: 'ERR_AUTH_USER_SERVICE_TIMEOUT',
    statusCode: 503,
    retryAfter: 1,
  })
  t.equal(watch.runs.length, 0)
})

interface Rehashing {
  readonly check: ReturnType<typeof createCredentialCheck>
  readonly updates: { user: object; hash: string; service: unknown }[]
}

/** A check with a service that takes new hashes. */
function rehashing(
  more: Partial<CredentialTools> = {},
  update: (hash: string) => unknown = () => undefined,
  user: { name: string; password: string } = alice,
): Rehashing {
  const updates: Rehashing['updates'] = []
  const userService: UserService = {
    findByUsername: (name) => (name === user.name ? user : null),
    updatePasswordHash(stored: object, hash: string) {
      updates.push({ user: stored, hash, service: this })
      return update(hash)
    },
  }
  return { check: createCredentialCheck(toolsOf({ userService, cost: 5, ...more })), updates }
}

const kinds = ({ runs }: BcryptWatch): string[] => runs.map(({ kind }) => kind)

t.test('rehash: after a success with a lower cost', async (t) => {
  const watch = watchBcrypt(t)
  const { check, updates } = rehashing()
  const { request, lines } = fakeRequest()
  t.equal(await check('alice', password, request), alice)
  t.equal(updates.length, 1)
  const [update] = updates
  t.equal(update?.user, alice, 'the user as it was found')
  t.match(update?.service, { updatePasswordHash: Function }, 'called as a method')
  t.equal(costOf(String(update?.hash)), 5)
  t.equal(bcrypt.compareSync(password, String(update?.hash)), true)
  t.strictSame(kinds(watch), ['compare', 'hash'])
  t.strictSame(lines, [])
})

t.test('rehash: not when there is no need or no way', async (t) => {
  const { password: hash } = alice
  const rows: [name: string, more: Partial<CredentialTools>, stored: string][] = [
    ['the same cost', { cost: 4 }, hash],
    ['the same cost, of PHP', { cost: 4 }, hash.replace('$2b$', '$2y$')],
    ['the same cost, of old', { cost: 4 }, hash.replace('$2b$', '$2a$')],
    ['a higher cost', { cost: 4 }, bcrypt.hashSync(password, 5)],
  ]
  for (const [name, more, stored] of rows) {
    await t.test(name, async (t) => {
      const watch = watchBcrypt(t)
      const { check, updates } = rehashing(more, undefined, { name: 'alice', password: stored })
      t.match(await check('alice', password, fakeRequest().request), { name: 'alice' })
      t.strictSame([updates.length, kinds(watch)], [0, ['compare']])
    })
  }
  await t.test('a service that takes none', async (t) => {
    const watch = watchBcrypt(t)
    const check = createCredentialCheck(toolsOf({ cost: 5 }))
    t.equal(await check('alice', password, fakeRequest().request), alice)
    t.strictSame(kinds(watch), ['compare'])
  })
  await t.test('a failure', async (t) => {
    const watch = watchBcrypt(t)
    const { check, updates } = rehashing()
    await t.rejects(check('alice', 'wrong', fakeRequest().request), wrong)
    await t.rejects(check('nobody', password, fakeRequest().request), wrong)
    t.strictSame([updates.length, kinds(watch)], [0, ['compare', 'compare']])
  })
  await t.test('a password that would be cut', async (t) => {
    const long = 'x'.repeat(73)
    const user = { name: 'alice', password: bcrypt.hashSync(long, 4) }
    const { check, updates } = rehashing({ maxPasswordBytes: false }, undefined, user)
    t.equal(await check('alice', long, fakeRequest().request), user)
    t.equal(updates.length, 0)
  })
  await t.test('remembered credentials', async (t) => {
    const memory = new CredentialMemory({ max: 10, ttl: 60 })
    const { check, updates } = rehashing({ memory })
    for (let count = 0; count < 3; count += 1) {
      t.equal(await check('alice', password, fakeRequest().request), alice)
    }
    t.equal(updates.length, 1, 'only the first time')
  })
})

t.test('rehash: not while others wait for bcrypt', async (t) => {
  const watch = watchBcrypt(t, true)
  const gate = gateOf(1)
  const { check, updates } = rehashing({ gate })
  const first = fateOf(check('alice', password, fakeRequest().request))
  const second = fateOf(check('alice', 'wrong', fakeRequest().request))
  await until(() => gate.stats.waiting === 1, 'one waits')
  watch.running[0]?.finish()
  await until(() => first.state === 'resolved', 'the login is through')
  t.equal(updates.length, 0)
  watch.running[0]?.finish()
  await until(() => second.state === 'rejected', 'the other is through')
  watch.hold(false)
  t.equal(await check('alice', password, fakeRequest().request), alice)
  t.equal(updates.length, 1, 'at the next quiet moment')
})

t.test('rehash: once at a time for a user, and again after it', async (t) => {
  let stored: () => void = () => undefined
  const { check, updates } = rehashing({ gate: gateOf(8) }, () => {
    const update = deferred()
    stored = () => update.resolve()
    return update.promise
  })
  const logins = Array.from({ length: 5 }, () => check('alice', password, fakeRequest().request))
  for (const user of await Promise.all(logins)) t.equal(user, alice)
  t.equal(updates.length, 1)
  await check('alice', password, fakeRequest().request)
  t.equal(updates.length, 1, 'it is not stored yet')
  stored()
  await settle()
  await check('alice', password, fakeRequest().request)
  t.equal(updates.length, 2)
})

const failingUpdates: Record<string, () => unknown> = {
  'throws at once': () => {
    throw new Error('read-only database')
  },
  rejects: () => Promise.reject(new Error('read-only database')),
}

for (const [name, update] of Object.entries(failingUpdates)) {
  t.test(`rehash: a service that ${name} is logged, and the login succeeds`, async (t) => {
    const { check, updates } = rehashing({}, update)
    const { request, lines } = fakeRequest()
    t.equal(await check('alice', password, request), alice)
    await settle()
    t.equal(lines.length, 1)
    t.match(lines[0], {
      level: 'error',
      args: [
        { err: { message: 'read-only database' } },
        'The new password hash of a user was not stored',
      ],
    })
    t.notMatch(JSON.stringify(lines), password)
    await check('alice', password, request)
    t.equal(updates.length, 2, 'it is tried again')
    await settle()
  })
}

t.test('rehash: a service that never settles does not hold the login', async (t) => {
  const { check, updates } = rehashing({}, () => new Promise(() => undefined))
  t.equal(await check('alice', password, fakeRequest().request), alice)
  t.equal(await check('alice', password, fakeRequest().request), alice)
  t.equal(updates.length, 1)
})

t.test('rehash: a bcrypt that fails is logged, and the login succeeds', async (t) => {
  const watch = watchBcrypt(t, true)
  const { check, updates } = rehashing()
  const { request, lines } = fakeRequest()
  const pending = fateOf(check('alice', password, request))
  await until(() => watch.running.length === 1, 'compare runs')
  watch.running[0]?.finish()
  await until(() => watch.running.length === 1, 'hash runs')
  watch.running[0]?.fail(new Error('no memory'))
  await until(() => pending.state === 'resolved', 'the login is through')
  t.match(lines, [{ level: 'error', args: [{ err: { message: 'no memory' } }] }])
  t.equal(updates.length, 0)
  watch.hold(false)
  await check('alice', password, request)
  t.equal(updates.length, 1, 'it is tried again')
})
