import t, { type Test } from 'tap'
import { ABANDONED } from '../../lib/http/disconnect.js'
import { HashingQueue } from '../../lib/passwords/queue.js'
import {
  fakeRequest,
  fateOf,
  pretendMachine,
  settle,
  until,
  type FakeRequest,
  type Fate,
} from '../helpers/load.js'

/** A piece of work that waits for its turn, and then for the test. */
interface Job extends FakeRequest {
  readonly fate: Fate
  /** Whether it was told that it had waited; undefined before its work begins. */
  waited: boolean | undefined
  readonly end: { resolve: (value?: unknown) => void; reject: (error: unknown) => void }
}

function arrive(queue: HashingQueue): Job {
  const fake = fakeRequest()
  const end = { resolve: () => undefined, reject: () => undefined }
  const job: Omit<Job, 'fate'> = { ...fake, waited: undefined, end }
  const work = (waited: boolean): Promise<unknown> => {
    job.waited = waited
    return new Promise((resolve, reject) => Object.assign(end, { resolve, reject }))
  }
  return Object.assign(job, { fate: fateOf(queue.run(work, fake.request)) })
}

const settings = { concurrency: 1, maxQueue: 64, maxWait: 60, budget: undefined }
const queueOf = (more: Partial<typeof settings> = {}) => new HashingQueue({ ...settings, ...more })
const overloaded = { code: 'ERR_AUTH_OVERLOADED', statusCode: 503, key: 'auth.overloaded' }

t.test('the default concurrency is the cores, but less than the pool has threads', async (t) => {
  const rows: [cores: number, pool: string | undefined, expected: number][] = [
    [1, undefined, 1],
    [3, undefined, 3],
    [64, undefined, 3],
    [64, '16', 15],
    [8, '16', 8],
    [8, '1', 1],
    [8, '-5', 1],
    // As libuv reads a string that is no number.
    [8, '', 1],
    [8, 'many', 1],
  ]
  for (const [cores, pool, expected] of rows) {
    await t.test(`${cores} cores, UV_THREADPOOL_SIZE=${pool ?? '(not set)'}`, async (t) => {
      pretendMachine(t, cores, pool)
      const queue = new HashingQueue({ ...settings, concurrency: undefined, budget: 65_536 })
      const jobs = Array.from({ length: 20 }, () => arrive(queue))
      t.equal(queue.stats.running, expected)
      for (const { leave, end } of jobs.toReversed()) {
        leave()
        end.resolve()
      }
    })
  }
})

t.test('work that waits longer than maxWait gets a 503 and frees its place', async (t) => {
  const queue = queueOf({ maxWait: 0.02 })
  const [first, second] = [arrive(queue), arrive(queue)]
  await until(() => second.fate.state !== 'pending', 'it is rejected')
  t.match(second.fate, { state: 'rejected', value: { ...overloaded, retryAfter: 1 } })
  second.leave()
  first.end.resolve()
  await settle()
  t.equal(second.waited, undefined)
  t.equal(arrive(queue).waited, false, 'its place is not lost')
})

t.test('work that waited too long only because the event loop was blocked is run', async (t) => {
  const queue = queueOf({ maxWait: 0.02 })
  const [first, second] = [arrive(queue), arrive(queue)]
  const end = performance.now() + 40
  while (performance.now() < end);
  setImmediate(first.end.resolve)
  await until(() => second.fate.state !== 'pending' || second.waited === true, 'it is decided')
  t.equal(second.waited, true)
})

t.test('work of a client that has left is not run, unless it runs already', async (t) => {
  const queue = queueOf()
  const gone = fakeRequest()
  gone.leave()
  const early = fateOf(queue.run(async () => t.fail('it runs'), gone.request))
  await settle()
  t.equal(early.value, ABANDONED)
  const [first, second] = [arrive(queue), arrive(queue)]
  first.leave()
  await settle()
  t.equal(second.waited, undefined)
  first.end.resolve()
  await settle()
  t.equal(second.waited, true)
})

/** The module as another process loads it: with places of its own. */
async function newProcess(t: Test, cores: number): Promise<typeof HashingQueue> {
  pretendMachine(t, cores, '64')
  const path = '../../lib/passwords/queue.js?new'
  const module = (await import(path)) as typeof import('../../lib/passwords/queue.js')
  return module.HashingQueue
}

t.test('queues without a concurrency of their own share the places of the process', async (t) => {
  const Queue = await newProcess(t, 2)
  const shared = { ...settings, concurrency: undefined, maxQueue: 1 }
  const [a, b, own] = [new Queue(shared), new Queue(shared), new Queue(settings)]
  const jobs = [arrive(a), arrive(b), arrive(a), arrive(b)]
  const waited = (): unknown[] => jobs.map((job) => job.waited)
  t.strictSame(waited(), [false, false, undefined, undefined])
  t.equal(arrive(own).waited, false, 'another number, other places')
  await t.rejects(
    b.run(async () => 0),
    overloaded,
  )
  t.strictSame(a.stats, { running: 1, waiting: 1, rejected: 0, memory: 0, replaced: 0 })
  t.strictSame(
    b.stats,
    { running: 1, waiting: 1, rejected: 1, memory: 0, replaced: 0 },
    'each has its own queue',
  )
  jobs[1]?.end.resolve()
  await settle()
  t.strictSame(waited(), [false, false, true, undefined], 'in order of arrival at any of them')
  jobs[0]?.end.resolve()
  await settle()
  t.strictSame(waited(), [false, false, true, true])
})

t.test('memory is a budget: work starts in order of arrival when its memory fits', async (t) => {
  const queue = new HashingQueue({ ...settings, concurrency: 4, budget: 100 })
  const enter = (memory: number) => {
    let end = (): void => undefined
    const state = { started: false, end: () => end() }
    const fake = fakeRequest()
    const work = (): Promise<void> => {
      state.started = true
      return new Promise((resolve) => (end = resolve))
    }
    return Object.assign(state, {
      leave: fake.leave,
      fate: fateOf(queue.run(work, fake.request, memory)),
    })
  }
  const [a, b, c, d] = [enter(60), enter(60), enter(10), enter(1000)]
  const started = (): boolean[] => [a, b, c, d].map((each) => each.started)
  t.strictSame(started(), [true, false, false, false], 'a small one does not overtake')
  t.equal(queue.isIdle(1), false)
  b.leave()
  await settle()
  t.strictSame(started(), [true, false, true, false], 'the one before it has left')
  t.equal(queue.stats.memory, 70)
  a.end()
  c.end()
  await settle()
  t.strictSame(started(), [true, false, true, true], 'more than the budget takes all of it')
  t.equal(queue.stats.memory, 100)
  d.end()
  await settle()
  t.strictSame(queue.stats, { running: 0, waiting: 0, rejected: 0, memory: 0, replaced: 0 })
})
