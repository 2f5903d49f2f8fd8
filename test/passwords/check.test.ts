import bcrypt from 'bcrypt'
import t from 'tap'
import { ABANDONED } from '../../lib/http/disconnect.js'
import { createCredentialCheck, type CredentialTools } from '../../lib/passwords/check.js'
import { costOf, isBcryptHash } from '../../lib/common/hash-format.js'
import { Gate } from '../../lib/passwords/gate.js'
import { CredentialMemory } from '../../lib/passwords/remembered.js'
import { Throttle } from '../../lib/throttle/throttle.js'
import type { UserService } from '../../lib/index.js'
import { rejectionOf } from '../helpers/errors.js'
import { deferred, serviceOf } from '../helpers/flows.js'
import {
  fakeRequest,
  fateOf,
  settle,
  until,
  watchBcrypt,
  type BcryptWatch,
} from '../helpers/load.js'

const password = 'wonderland'
const alice = { name: 'alice', password: bcrypt.hashSync(password, 4) }
const usersOf = (...users: { name: string }[]): UserService =>
  serviceOf((username) => users.find(({ name }) => name === username) ?? null)

function throttle(perUsername = 3): Throttle {
  return new Throttle({ perUsername, perAddress: 100, window: 900, keyPrefix: 'test' }, null)
}

const gateOf = (concurrency = 2): Gate => new Gate({ concurrency, maxQueue: 64, maxWait: 60 })

function toolsOf(more: Partial<CredentialTools> = {}): CredentialTools {
  return {
    userService: usersOf(alice),
    passwordField: 'password',
    maxPasswordBytes: 72,
    userServiceTimeout: undefined,
    cost: 4,
    maxCost: 14,
    gate: gateOf(),
    throttle: null,
    accepted: null,
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

t.test(
  'whatever is wrong, where the stored hash has hashing.cost, it is one bcrypt run',
  async (t) => {
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
  },
)

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

/** What bcrypt was asked to do, in units of cost 4. */
const workOf = (watch: BcryptWatch): number =>
  hashesOf(watch).reduce((sum, hash) => sum + 2 ** (costOf(hash) - 4), 0)

t.test('every refusal takes the work of hashing.cost, also after a restart', async (t) => {
  const users = [4, 5, 6].map((cost) => ({
    name: `cost${cost}`,
    password: bcrypt.hashSync(password, cost),
  }))
  const userService = usersOf(...users, { name: 'without', password: null } as { name: string })
  for (const memory of [null, new CredentialMemory({ max: 10, ttl: 60 })]) {
    const check = createCredentialCheck(toolsOf({ userService, cost: 6, memory }))
    for (const name of ['nobody', 'cost4', 'cost5', 'cost6', 'without', 'nobody']) {
      const watch = watchBcrypt(t)
      await t.rejects(check(name, 'wrong', fakeRequest().request), wrong)
      t.equal(workOf(watch), 4, name)
      t.ok(watch.runs.every((run) => run.password === 'wrong'))
    }
    const watch = watchBcrypt(t)
    await check('cost4', password, fakeRequest().request)
    t.strictSame(hashesOf(watch), [users[0]?.password], 'a success is not made dearer')
    await t.rejects(check('nobody', 'wrong', fakeRequest().request), wrong)
    t.equal(workOf(watch), 5, 'and it teaches nothing')
  }
})

t.test('a password that is right but too long is refused after the same work', async (t) => {
  const long = 'x'.repeat(73)
  const userService = usersOf({ name: 'long', password: bcrypt.hashSync(long, 4) } as {
    name: string
  })
  const watch = watchBcrypt(t)
  const check = createCredentialCheck(toolsOf({ userService, cost: 6 }))
  await t.rejects(check('long', long, fakeRequest().request), wrong)
  t.equal(workOf(watch), 4)
})

t.test(
  'the whole of that work is done at one place of the gate, for a client that left too',
  async (t) => {
    const watch = watchBcrypt(t, true)
    const tools = toolsOf({ gate: gateOf(1), cost: 6, throttle: throttle(1) })
    const check = createCredentialCheck(tools)
    const { request, leave } = fakeRequest()
    const fate = fateOf(check('alice', 'wrong', request))
    const next = fateOf(check('alice', 'also wrong', fakeRequest().request))
    for (const cost of [4, 4, 5]) {
      await until(() => watch.running.length === 1, 'bcrypt runs')
      t.equal(costOf(String(watch.running[0]?.against)), cost)
      t.equal(tools.gate.stats.waiting, 1)
      leave()
      watch.running[0]?.finish(false)
      await settle()
    }
    await until(() => fate.state === 'rejected' && next.state === 'rejected', 'both are refused')
    t.match([fate.value, next.value], [{ statusCode: 401 }, { statusCode: 429 }])
    t.equal(watch.runs.length, 3)
  },
)

t.test('a bcrypt that breaks in the middle of that is a fault', async (t) => {
  const watch = watchBcrypt(t, true)
  const check = createCredentialCheck(toolsOf({ cost: 6 }))
  const pending = rejectionOf(check('alice', 'wrong', fakeRequest().request))
  await until(() => watch.running.length === 1, 'bcrypt runs')
  watch.running[0]?.finish(false)
  await until(() => watch.running.length === 1, 'bcrypt runs again')
  watch.running[0]?.fail(new Error('no memory'))
  t.equal((await pending).code, 'ERR_AUTH_HASHING')
})

t.test('a stored hash of a higher cost than hashing.maxCost counts as malformed', async (t) => {
  const high = (cost: number) => `$2b$${cost}${alice.password.slice(6)}`
  for (const [maxCost, stored, cost] of [
    [14, high(15), 15],
    [14, high(31), 31],
    [12, high(13), 13],
  ] as const) {
    const watch = watchBcrypt(t)
    const userService = usersOf({ name: 'alice', password: stored } as { name: string })
    const memory = new CredentialMemory({ max: 10, ttl: 60 })
    const check = createCredentialCheck(toolsOf({ userService, maxCost, memory }))
    const { request, lines } = fakeRequest()
    await t.rejects(check('alice', password, request), wrong)
    t.equal(workOf(watch), 1)
    t.strictSame(lines, [
      {
        level: 'warn',
        args: [
          { passwordField: 'password', cost, maxCost },
          'The stored password hash of a user is not used: its cost is above the option "hashing.maxCost"',
        ],
      },
    ])
  }
})

t.test('one of a higher cost than new ones is compared, and the log says so once', async (t) => {
  const userService = usersOf({ name: 'alice', password: bcrypt.hashSync(password, 5) } as {
    name: string
  })
  const check = createCredentialCheck(toolsOf({ userService, maxCost: 5 }))
  const { request, lines } = fakeRequest()
  for (const given of [password, password, 'wrong']) {
    await check('alice', given, request).catch((error: unknown) => t.match(error, wrong))
  }
  t.equal(lines.length, 1)
  t.match(lines[0], { level: 'warn', args: [{ cost: 5 }, /"hashing\.cost"/] })
})

t.test('spellings of a name share no run, whether there is a user or not', async (t) => {
  const folding = serviceOf((name) => (String(name).toLowerCase() === 'alice' ? alice : null))
  for (const name of ['alice', 'nobody']) {
    const watch = watchBcrypt(t)
    const memory = new CredentialMemory({ max: 10, ttl: 60 })
    const check = createCredentialCheck(toolsOf({ userService: folding, memory }))
    const spellings = Array.from(name.slice(0, 5), (letter, at) =>
      [name.slice(0, at), letter.toUpperCase(), name.slice(at + 1)].join(''),
    )
    const all = [...spellings, ...spellings].map((spelling) =>
      t.rejects(check(spelling, 'wrong', fakeRequest().request), wrong),
    )
    await Promise.all(all)
    t.equal(watch.runs.length, 5, name)
  }
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
  const forgets = t.capture(counting, 'forget')
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
  t.intercept(tools.throttle as Throttle, 'waits', {
    value: async () => {
      second.leave()
      await settle()
      return { username: 0, address: 0, network: 0 }
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
  readonly updates: { user: object; hash: string; previous: string; service: unknown }[]
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
    updatePasswordHash(stored: object, hash: string, previous: string) {
      updates.push({ user: stored, hash, previous, service: this })
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
  t.equal(update?.user, alice, 'the user as it is found')
  t.equal(update?.previous, alice.password)
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
    t.strictSame([updates.length, new Set(kinds(watch))], [0, new Set(['compare'])])
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
  watch.hold(false)
  watch.running[0]?.finish()
  await until(() => second.state === 'rejected', 'the other is through')
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

const meanwhile: Record<string, () => unknown> = {
  'has another password': () => ({ ...alice, password: bcrypt.hashSync('new', 4) }),
  'has the same password, hashed by somebody else': () => ({
    ...alice,
    password: bcrypt.hashSync(password, 4),
  }),
  'has no password any more': () => ({ ...alice, password: null }),
  'lacks the field': () => ({ name: 'alice' }),
  'is gone': () => null,
}

for (const [name, found] of Object.entries(meanwhile)) {
  t.test(`rehash: nothing is stored for a user who ${name} when the hash is ready`, async (t) => {
    const watch = watchBcrypt(t, true)
    let change = (): unknown => alice
    const updates: unknown[] = []
    for (const answer of [(user: unknown) => user, async (user: unknown) => user]) {
      change = () => alice
      const userService = {
        ...serviceOf(() => answer(change())),
        updatePasswordHash: (...args: unknown[]) => updates.push(args),
      }
      const check = createCredentialCheck(toolsOf({ userService, cost: 5 }))
      const { request, lines } = fakeRequest()
      const pending = fateOf(check('alice', password, request))
      for (const kind of ['compare', 'hash']) {
        await until(() => watch.running[0]?.kind === kind, `${kind} runs`)
        if (kind === 'hash') change = found
        watch.running[0]?.finish()
      }
      await until(() => pending.state === 'resolved', 'the login is through')
      await settle()
      t.strictSame([pending.value, updates, lines], [alice, [], []])
    }
  })
}

t.test(
  'rehash: a user service that fails then is logged, and one that hangs is given up',
  async (t) => {
    for (const again of [
      () => Promise.reject(new Error('database is away')),
      () => new Promise(() => undefined),
    ]) {
      let asked = 0
      const updates: unknown[] = []
      const userService = {
        ...serviceOf(() => ((asked += 1) % 2 === 1 ? alice : again())),
        updatePasswordHash: (...args: unknown[]) => updates.push(args),
      }
      const check = createCredentialCheck(
        toolsOf({ userService, cost: 5, userServiceTimeout: 0.01 }),
      )
      const { request, lines } = fakeRequest()
      t.equal(await check('alice', password, request), alice)
      await until(() => lines.length === 1, 'it is logged')
      t.match(lines[0], {
        level: 'error',
        args: [{}, 'The new password hash of a user was not stored'],
      })
      t.equal(await check('alice', password, request), alice)
      await until(() => asked === 4, 'it is tried again')
      t.strictSame(updates, [])
    }
  },
)

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
