import * as fc from 'fast-check'
import t, { type Test } from 'tap'
import { ABANDONED } from '../../lib/http/disconnect.js'
import { Gate, type GateOptions } from '../../lib/passwords/gate.js'
import { hashPassword } from '../../lib/passwords/password.js'
import {
  fakeRequest,
  fateOf,
  pretendMachine,
  settle,
  until,
  watchBcrypt,
  type FakeRequest,
  type Fate,
} from '../helpers/load.js'

/** A piece of work at the gate. */
interface Job extends FakeRequest {
  readonly id: number
  readonly gate: Gate
  /** Whether the work was begun, and whether it was told that it had waited. */
  started: boolean
  waited: boolean | undefined
  readonly end: { resolve: (value: unknown) => void; reject: (error: unknown) => void }
  readonly fate: Fate
}

let ids = 0

function arrive(gate: Gate, withRequest = true): Job {
  const fake = fakeRequest()
  ids += 1
  const job: Omit<Job, 'fate'> & { fate?: Fate } = {
    ...fake,
    id: ids,
    gate,
    started: false,
    waited: undefined,
    end: { resolve: () => undefined, reject: () => undefined },
  }
  const work = (waited: boolean): Promise<unknown> => {
    job.started = true
    job.waited = waited
    return new Promise((resolve, reject) => Object.assign(job.end, { resolve, reject }))
  }
  job.fate = fateOf(withRequest ? gate.run(work, fake.request) : gate.run(work))
  return job as Job
}

const options = (more: Partial<GateOptions> = {}): GateOptions => ({
  concurrency: 1,
  maxQueue: 64,
  maxWait: 60,
  ...more,
})

/** Forgets the places of the process, so that a gate makes new ones. */
function newProcess(t: Test, cores: number): void {
  const places = globalThis as { [key: symbol]: unknown }
  const key = Symbol.for('fastify-authn.slots')
  const { [key]: present } = places
  pretendMachine(t, cores, '64')
  delete places[key]
  t.teardown(() => Object.assign(places, { [key]: present }))
}

t.test('work runs at once while there is a place', async (t) => {
  const gate = new Gate(options({ concurrency: 2 }))
  t.equal(gate.isIdle, true)
  const first = arrive(gate)
  t.strictSame([first.started, first.waited], [true, false], 'without a turn of the event loop')
  t.equal(gate.isIdle, true)
  const second = arrive(gate)
  t.equal(second.started, true)
  t.equal(gate.isIdle, false)
  t.strictSame(gate.stats, { running: 2, waiting: 0, refused: 0 })
  first.end.resolve('one')
  second.end.resolve('two')
  await settle()
  t.match(first.fate, { state: 'resolved', value: 'one' })
  t.match(second.fate, { state: 'resolved', value: 'two' })
  t.strictSame(gate.stats, { running: 0, waiting: 0, refused: 0 })
  t.equal(gate.isIdle, true)
})

t.test('the rest waits in order of arrival, and is told so', async (t) => {
  const gate = new Gate(options())
  const [first, second, third] = [arrive(gate), arrive(gate, false), arrive(gate)]
  await settle()
  t.strictSame([first.started, second.started, third.started], [true, false, false])
  t.strictSame(gate.stats, { running: 1, waiting: 2, refused: 0 })
  first.end.resolve(1)
  await settle()
  t.strictSame([second.started, third.started], [true, false])
  t.strictSame(gate.stats, { running: 1, waiting: 1, refused: 0 })
  second.end.resolve(2)
  await settle()
  t.strictSame([first.waited, second.waited, third.waited], [false, true, true])
  third.end.resolve(3)
  await settle()
  t.strictSame([first.fate.value, second.fate.value, third.fate.value], [1, 2, 3])
})

t.test('work that fails gives its place back, and its error is its own', async (t) => {
  const gate = new Gate(options())
  const error = new Error('broken')
  const [first, second] = [arrive(gate), arrive(gate)]
  first.end.reject(error)
  await settle()
  t.strictSame([first.fate.state, first.fate.value], ['rejected', error])
  t.equal(second.started, true)
  second.end.resolve(2)
  await settle()
  t.equal(gate.isIdle, true)
})

t.test('work that throws at once gives its place back', async (t) => {
  const gate = new Gate(options())
  const work = (): never => {
    throw new Error('at once')
  }
  await t.rejects(gate.run(work), { message: 'at once' })
  t.strictSame(gate.stats, { running: 0, waiting: 0, refused: 0 })
  t.equal(gate.isIdle, true)
})

t.test('a full queue refuses at once, and never what waits', async (t) => {
  const gate = new Gate(options({ maxQueue: 1, maxWait: 7.2 }))
  const [first, second, third] = [arrive(gate), arrive(gate), arrive(gate)]
  await settle()
  t.match(third.fate, {
    state: 'rejected',
    value: { code: 'ERR_AUTH_OVERLOADED', statusCode: 503, key: 'auth.overloaded', retryAfter: 8 },
  })
  t.equal(third.started, false)
  t.strictSame(gate.stats, { running: 1, waiting: 1, refused: 1 })
  first.end.resolve(1)
  await settle()
  t.equal(second.started, true)
  const fourth = arrive(gate)
  await settle()
  t.strictSame([fourth.fate.state, gate.stats], ['pending', { running: 1, waiting: 1, refused: 1 }])
  second.end.resolve(2)
  await settle()
  fourth.end.resolve(4)
  await settle()
  t.equal(fourth.fate.value, 4)
})

t.test('without a queue nothing waits', async (t) => {
  const gate = new Gate(options({ maxQueue: 0 }))
  const [first, second] = [arrive(gate), arrive(gate)]
  await settle()
  t.match(second.fate, { state: 'rejected', value: { code: 'ERR_AUTH_OVERLOADED' } })
  first.end.resolve(1)
  await settle()
  t.equal(arrive(gate).started, true)
})

t.test('who waits too long is refused, and the place goes to the next', async (t) => {
  const gate = new Gate(options({ maxWait: 0.02 }))
  const [first, second] = [arrive(gate), arrive(gate)]
  await until(() => second.fate.state !== 'pending', 'it is refused')
  t.match(second.fate, {
    state: 'rejected',
    value: { code: 'ERR_AUTH_OVERLOADED', statusCode: 503, retryAfter: 1 },
  })
  t.strictSame(gate.stats, { running: 1, waiting: 0, refused: 1 })
  t.equal(second.socket.listenerCount('close'), 1)
  second.leave()
  first.end.resolve(1)
  await settle()
  t.equal(second.started, false)
  t.equal(arrive(gate).started, true, 'the place is not lost')
})

t.test('whose client leaves while it waits is dropped, and the others move up', async (t) => {
  const gate = new Gate(options())
  const [first, second, third] = [arrive(gate), arrive(gate), arrive(gate)]
  second.leave()
  await settle()
  t.strictSame([second.fate.state, second.fate.value], ['rejected', ABANDONED])
  t.strictSame(gate.stats, { running: 1, waiting: 1, refused: 0 }, 'that is no refusal')
  first.end.resolve(1)
  await settle()
  t.strictSame([second.started, third.started], [false, true])
  third.end.resolve(3)
  await settle()
  t.equal(gate.isIdle, true)
})

t.test('whose client has left before does not even wait', async (t) => {
  const gate = new Gate(options())
  const gone = fakeRequest()
  gone.leave()
  let started = false
  const fate = fateOf(
    gate.run(async () => {
      started = true
    }, gone.request),
  )
  await settle()
  t.strictSame([fate.state, fate.value, started], ['rejected', ABANDONED, false])
  t.strictSame(gate.stats, { running: 0, waiting: 0, refused: 0 })
})

t.test('a client that leaves while its work runs does not free the place early', async (t) => {
  const gate = new Gate(options())
  const [first, second] = [arrive(gate), arrive(gate)]
  first.leave()
  await settle()
  t.equal(second.started, false)
  first.end.resolve(1)
  await settle()
  t.strictSame([first.fate.value, second.started], [1, true])
})

t.test('nothing is left behind on a connection by many that waited', async (t) => {
  const gate = new Gate(options())
  const fake = fakeRequest()
  const ends: (() => void)[] = []
  const work = (): Promise<void> => new Promise((resolve) => ends.push(resolve))
  const all = Array.from({ length: 30 }, () => gate.run(work, fake.request))
  for (let count = 0; count < all.length; count += 1) {
    await until(() => ends.length > count, 'the next one runs')
    ends[count]?.()
  }
  await Promise.all(all)
  t.equal(fake.socket.listenerCount('close'), 1)
  t.strictSame(gate.stats, { running: 0, waiting: 0, refused: 0 })
})

t.test('gates without a number of their own share the places of the process', async (t) => {
  newProcess(t, 2)
  const shared = { concurrency: undefined, maxQueue: 1, maxWait: 60 }
  const [a, b, own] = [new Gate(shared), new Gate(shared), new Gate(options())]
  const jobs = [arrive(a), arrive(b), arrive(a), arrive(b)]
  const started = (): boolean[] => jobs.map((job) => job.started)
  t.strictSame(started(), [true, true, false, false])
  t.strictSame([a.isIdle, b.isIdle, own.isIdle], [false, false, true])
  t.equal(arrive(own).started, true, 'another number, other places')
  t.strictSame(a.stats, { running: 1, waiting: 1, refused: 0 })
  t.strictSame(b.stats, { running: 1, waiting: 1, refused: 0 }, 'each has its own queue')
  await t.rejects(
    b.run(async () => 0),
    { code: 'ERR_AUTH_OVERLOADED' },
  )
  jobs[1]?.end.resolve(0)
  await settle()
  t.strictSame(started(), [true, true, true, false], 'in order of arrival at any of them')
  for (const job of jobs) {
    job.end.resolve(0)
    await settle()
  }
  jobs[3]?.end.resolve(0)
  await settle()
  t.strictSame(
    jobs.map(({ fate }) => fate.state),
    ['resolved', 'resolved', 'resolved', 'resolved'],
  )
})

t.test(
  'hashPassword stands at the places of the process, and is refused like others',
  async (t) => {
    newProcess(t, 1)
    const gate = new Gate({ concurrency: undefined, maxQueue: 64, maxWait: 60 })
    const watch = watchBcrypt(t, true)
    const first = arrive(gate)
    // Its gate was made with the places of before: another process, another gate.
    const path = '../../lib/passwords/password.js?new'
    const module = (await import(path)) as typeof import('../../lib/passwords/password.js')
    const waiting = fateOf(module.hashPassword('swordfish', { cost: 4 }))
    await settle()
    t.equal(watch.runs.length, 0, 'it waits')
    const queued = Array.from({ length: 63 }, () =>
      fateOf(module.hashPassword('swordfish', { cost: 4 })),
    )
    await t.rejects(module.hashPassword('swordfish', { cost: 4 }), {
      code: 'ERR_AUTH_OVERLOADED',
      statusCode: 503,
      retryAfter: 5,
    })
    first.end.resolve(0)
    await until(() => watch.running.length === 1, 'it runs')
    const next = arrive(gate)
    t.equal(next.started, false, 'and takes the place of logins')
    watch.hold(false)
    await until(() => next.started, 'all have run')
    next.end.resolve(0)
    await settle()
    t.ok(waiting.state === 'resolved' && queued.every(({ state }) => state === 'resolved'))
    t.equal(watch.peak, 1)
  },
)

t.test('hashPassword: one gate a process', async (t) => {
  const watch = watchBcrypt(t)
  await Promise.all(
    ['one', 'two', 'three', 'four', 'five'].map((word) => hashPassword(word, { cost: 4 })),
  )
  t.equal(watch.runs.length, 5)
  const { availableParallelism } = await import('node:os')
  const pool = Number(process.env.UV_THREADPOOL_SIZE) || 4
  t.ok(watch.peak <= Math.max(1, Math.min(availableParallelism(), pool - 1)), `${watch.peak}`)
})

type Step =
  | { do: 'arrive'; gate: number; anonymous: boolean }
  | { do: 'leave' | 'leave running' | 'succeed' | 'fail'; which: number }

const steps = fc.array(
  fc.oneof(
    fc.record({
      do: fc.constant('arrive' as const),
      gate: fc.nat(2),
      anonymous: fc.boolean(),
    }),
    fc.record({
      do: fc.constantFrom(
        'leave' as const,
        'leave running' as const,
        'succeed' as const,
        'fail' as const,
      ),
      which: fc.nat(20),
    }),
  ),
  { maxLength: 60, size: 'max' },
)

/** The gate as it is meant to be: lists, and no promises. */
class Model {
  running: Job[] = []
  queue: Job[] = []
  readonly expected = new Map<Job, 'done' | 'failed' | 'refused' | 'abandoned'>()

  constructor(
    readonly places: number,
    readonly maxQueue: number,
  ) {}

  arrive(job: Job): void {
    if (this.running.length < this.places) this.running.push(job)
    else if (this.waitingAt(job.gate) >= this.maxQueue) this.expected.set(job, 'refused')
    else this.queue.push(job)
  }

  leave(job: Job): void {
    this.queue = this.queue.filter((other) => other !== job)
    this.expected.set(job, 'abandoned')
  }

  end(job: Job, outcome: 'done' | 'failed'): void {
    this.running = this.running.filter((other) => other !== job)
    this.expected.set(job, outcome)
    const next = this.queue.shift()
    if (next !== undefined) this.running.push(next)
  }

  waitingAt(gate: Gate): number {
    return this.queue.filter((job) => job.gate === gate).length
  }

  statsOf(gate: Gate): Gate['stats'] {
    const refused = [...this.expected].filter(
      ([job, outcome]) => outcome === 'refused' && job.gate === gate,
    )
    return {
      running: this.running.filter((job) => job.gate === gate).length,
      waiting: this.waitingAt(gate),
      refused: refused.length,
    }
  }
}

const failure = new Error('as told')

function outcomeOf({ state, value }: Fate): string {
  if (state !== 'rejected') return state === 'resolved' ? 'done' : 'pending'
  if (value === ABANDONED) return 'abandoned'
  return value === failure ? 'failed' : String((value as { code?: unknown }).code)
}

/** Runs steps against gates and model at once; throws where they differ. */
async function follow(gates: readonly Gate[], model: Model, list: readonly Step[]): Promise<void> {
  const jobs: Job[] = []
  const anonymous = new Set<Job>()
  const act = (step: Step): void => {
    if (step.do === 'arrive') {
      const job = arrive(gates[step.gate % gates.length] as Gate, !step.anonymous)
      if (step.anonymous) anonymous.add(job)
      jobs.push(job)
      model.arrive(job)
      return
    }
    const from = step.do === 'leave' ? model.queue : model.running
    const job = from[step.which % Math.max(1, from.length)]
    if (job === undefined) return
    if (step.do === 'leave' || step.do === 'leave running') {
      job.leave()
      if (step.do === 'leave' && !anonymous.has(job)) model.leave(job)
    } else if (step.do === 'succeed') {
      job.end.resolve(job.id)
      model.end(job, 'done')
    } else {
      job.end.reject(failure)
      model.end(job, 'failed')
    }
  }
  const compare = (): void => {
    for (const gate of gates) same(gate.stats, model.statsOf(gate), 'stats')
    for (const job of jobs) {
      const outcome = model.expected.get(job) ?? 'pending'
      const wanted = outcome === 'refused' ? 'ERR_AUTH_OVERLOADED' : outcome
      same(outcomeOf(job.fate), wanted, 'outcome')
      const begun = outcome === 'done' || outcome === 'failed' || model.running.includes(job)
      same(job.started, begun, 'begun')
    }
    const runs = jobs.filter((job) => job.started && job.fate.state === 'pending').length
    same(runs <= model.places, true, 'never more than there are places')
    same(runs, model.running.length, 'running')
  }
  for (const step of list) {
    act(step)
    await settle(1)
    compare()
  }
  while (model.running.length > 0) {
    act({ do: 'succeed', which: 0 })
    await settle(1)
  }
  compare()
  same(
    jobs.every(({ fate }) => fate.state !== 'pending'),
    true,
    'nothing is lost',
  )
  for (const gate of gates) same(gate.isIdle, true, 'every place is free again')
}

function same(found: unknown, wanted: unknown, what: string): void {
  const [a, b] = [JSON.stringify(found), JSON.stringify(wanted)]
  if (a !== b) throw new Error(`${what}: found ${a}, expected ${b}`)
}

t.test('any sequence of arrivals, leavings and ends: one gate', async (t) => {
  let longest = 0
  await fc.assert(
    fc.asyncProperty(fc.integer({ min: 1, max: 4 }), fc.nat(5), steps, async (n, queue, list) => {
      longest = Math.max(longest, list.length)
      await follow(
        [new Gate(options({ concurrency: n, maxQueue: queue }))],
        new Model(n, queue),
        list,
      )
    }),
    { numRuns: 150 },
  )
  t.ok(longest > 20, 'sequences are long enough to fill a queue')
})

t.test('any sequence of arrivals, leavings and ends: gates of one process', async (t) => {
  newProcess(t, 2)
  await fc.assert(
    fc.asyncProperty(fc.nat(4), steps, async (maxQueue, list) => {
      const gates = [0, 1, 2].map(() => new Gate({ concurrency: undefined, maxQueue, maxWait: 60 }))
      await follow(gates, new Model(2, maxQueue), list)
    }),
    { numRuns: 100 },
  )
})
