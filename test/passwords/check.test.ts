import bcrypt from 'bcrypt'
import t from 'tap'
import { ABANDONED } from '../../lib/http/disconnect.js'
import { createCredentialCheck } from '../../lib/passwords/check.js'
import type { CheckTools } from '../../lib/passwords/rehash.js'
import { resolveHashing } from '../../lib/passwords/hashing.js'
import { HashingQueue } from '../../lib/passwords/queue.js'
import { Throttle } from '../../lib/throttle/throttle.js'
import { rejectionOf } from '../helpers/errors.js'
import { serviceOf } from '../helpers/flows.js'
import { fakeRequest, fateOf, settle, until, watchBcrypt } from '../helpers/load.js'

const password = 'wonderland'
const alice = { name: 'alice', password: bcrypt.hashSync(password, 4) }
const usersOf = (...users: { name: string; password?: unknown }[]): CheckTools['userService'] =>
  serviceOf((username) => users.find(({ name }) => name === username) ?? null)

const throttle = (perUsername: number): Throttle =>
  new Throttle({ perUsername, perAddress: 100, window: 900, keyPrefix: 'test' }, null)

const queueOf = (concurrency = 2): HashingQueue =>
  new HashingQueue({ concurrency, maxQueue: 64, maxWait: 60, budget: undefined })

interface Given extends Partial<CheckTools> {
  readonly cost?: number
  readonly queue?: HashingQueue
}

const toolsOf = ({ cost = 4, queue = queueOf(), ...more }: Given = {}): CheckTools => ({
  userService: usersOf(alice),
  passwordField: 'password',
  userServiceTimeout: undefined,
  hashing: { ...resolveHashing({ cost }), queue, maxPasswordBytes: 72 },
  throttle: null,
  cache: null,
  ...more,
})

const costOf = (hash: unknown): number => bcrypt.getRounds(String(hash))

const wrong = { code: 'ERR_AUTH_INVALID_CREDENTIALS', statusCode: 401 }

t.test('a hash above hashing.maxCost is a 401, one above hashing.cost matches', async (t) => {
  const watch = watchBcrypt(t)
  const userService = usersOf(
    { name: 'high', password: `$2b$15$${alice.password.slice(7)}` },
    { name: 'higher', password: bcrypt.hashSync(password, 5) },
  )
  const check = createCredentialCheck(toolsOf({ userService }))
  const { request, lines } = fakeRequest()
  await t.rejects(check('high', password, request), wrong)
  const found = watch.runs.map(({ against }) => costOf(against))
  t.strictSame(found, [4], 'rejected after the work of hashing.cost')
  t.match(await check('higher', password, request), { user: { name: 'higher' } })
  t.match(await check('higher', password, request), { user: { name: 'higher' } })
  t.match(lines, [
    { level: 'warn', args: [{ maxCost: 14 }, /"hashing\.maxCost"/] },
    { level: 'warn', args: [{ cost: 5 }, /Raise "hashing"/] },
  ])
  t.equal(lines.length, 2, 'the latter is said once')
  t.notMatch(JSON.stringify(lines), /\$2b/)
})

t.test('extra bcrypt runs for a low cost finish, even if the client has left', async (t) => {
  const watch = watchBcrypt(t, true)
  const tools = toolsOf({ queue: queueOf(1), cost: 6, throttle: throttle(1) })
  const check = createCredentialCheck(tools)
  const { request, leave } = fakeRequest()
  const fate = fateOf(check('alice', 'wrong', request))
  const next = fateOf(check('alice', 'also wrong', fakeRequest().request))
  for (const cost of [4, 4, 5]) {
    await until(() => watch.running.length === 1, 'bcrypt runs')
    t.equal(costOf(watch.running[0]?.against), cost)
    t.equal(tools.hashing.queue.stats.waiting, 1)
    leave()
    watch.running[0]?.finish(false)
    await settle()
  }
  await until(() => fate.state === 'rejected' && next.state === 'rejected', 'both are rejected')
  t.match([fate.value, next.value], [{ statusCode: 401 }, { statusCode: 429 }])
  t.equal(watch.runs.length, 3)
})

t.test('a bcrypt that fails is an internal error and not counted', async (t) => {
  for (const runs of [1, 2]) {
    const watch = watchBcrypt(t, true)
    const check = createCredentialCheck(toolsOf({ cost: 6, throttle: throttle(runs) }))
    const { request } = fakeRequest()
    const pending = rejectionOf(check('alice', 'wrong', request))
    for (let run = 1; run < runs; run += 1) {
      await until(() => watch.running.length === 1, 'bcrypt runs')
      watch.running[0]?.finish(false)
    }
    await until(() => watch.running.length === 1 && watch.runs.length === runs, 'it runs')
    const cause = new Error('no memory')
    watch.running[0]?.fail(cause)
    const { code, error } = await pending
    t.strictSame([code, error.cause], ['ERR_AUTH_HASHING', cause])
    watch.hold(false)
    t.equal((await check('alice', password, request)).user, alice)
  }
})

t.test('the password of a client that leaves when its turn has come is not checked', async (t) => {
  const watch = watchBcrypt(t, true)
  const tools = toolsOf({ queue: queueOf(1), throttle: throttle(50) })
  const check = createCredentialCheck(tools)
  const second = fakeRequest()
  const first = fateOf(check('alice', 'one', fakeRequest().request))
  const fate = fateOf(check('alice', 'two', second.request))
  await until(() => tools.hashing.queue.stats.waiting === 1, 'one waits')
  t.intercept(tools.throttle as Throttle, 'waits', {
    value: async () => {
      second.leave()
      return [0, 0]
    },
  })
  watch.running[0]?.finish()
  await until(() => first.state === 'rejected' && fate.state === 'rejected', 'it is dropped')
  t.equal(fate.value, ABANDONED)
  t.strictSame(watch.passwords(), ['one'])
  t.strictSame(tools.hashing.queue.stats, {
    running: 0,
    waiting: 0,
    rejected: 0,
    memory: 0,
    replaced: 0,
  })
})

t.test('a login is confirmed if the hash is another one of its password by then', async (t) => {
  const { request } = fakeRequest()
  for (const [title, by, isRight] of [
    ['of another process', password, true],
    ['of another password', 'changed', false],
  ] as const) {
    const users = [alice, { ...alice, password: bcrypt.hashSync(by, 4) }]
    const check = createCredentialCheck(
      toolsOf({ userService: serviceOf(() => users.shift() ?? null) }),
    )
    const { confirm } = await check('alice', password, request)
    if (isRight) await t.resolves(confirm(), title)
    else await t.rejects(confirm(), { code: 'ERR_AUTH_INVALID_CREDENTIALS' }, title)
  }
})

t.test('an attempt over the limit is rejected before its user is looked up', async (t) => {
  const asked: (string | number)[] = []
  const userService = serviceOf((name) => (asked.push(name) > 0 ? alice : null))
  const check = createCredentialCheck(toolsOf({ userService, throttle: throttle(1) }))
  const { request } = fakeRequest()
  await t.rejects(check('alice', 'guess', request), { code: 'ERR_AUTH_INVALID_CREDENTIALS' })
  await t.rejects(check('alice', password, request), { code: 'ERR_AUTH_TOO_MANY_ATTEMPTS' })
  t.strictSame(asked, ['alice'])
})
