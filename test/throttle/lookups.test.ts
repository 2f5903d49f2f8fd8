import t from 'tap'
import { rejection } from '../../lib/errors/errors.js'
import { ABANDONED } from '../../lib/http/disconnect.js'
import { Lookups } from '../../lib/throttle/lookups.js'
import { fakeRequest, fateOf, settle, type FakeRequest, type Fate } from '../helpers/load.js'

/** A look-up that waits for its turn, and then for the test. */
interface Job extends FakeRequest {
  readonly fate: Fate
  hasBegun: boolean
  end(error?: unknown): void
}

function arrive(lookups: Lookups, ip?: string, fake = fakeRequest(ip)): Job {
  const job = { ...fake, hasBegun: false, end: (): void => undefined }
  const work = (): Promise<string> => {
    job.hasBegun = true
    return new Promise((resolve, reject) => {
      job.end = (error?: unknown) => (error === undefined ? resolve('found') : reject(error))
    })
  }
  return Object.assign(job, { fate: fateOf(lookups.run(fake.request, work)) })
}

const many = (count: number, make: () => Job): Job[] => Array.from({ length: count }, make)
const begun = (jobs: readonly Job[]): boolean[] => jobs.map(({ hasBegun }) => hasBegun)

t.test('of one address 16 lookups run at once, and its others wait in order', async (t) => {
  const lookups = new Lookups()
  const running = many(16, () => arrive(lookups))
  const [first, second] = [arrive(lookups), arrive(lookups)] as const
  const other = arrive(lookups, '127.0.0.2')
  await settle()
  t.ok(begun(running).every(Boolean))
  t.strictSame(begun([first, second, other]), [false, false, true], 'another address need not wait')
  running[3]?.end()
  running[7]?.end(new Error('no answer'))
  await settle()
  t.strictSame(begun([first, second]), [true, true])
  t.match([running[3]?.fate.value, running[7]?.fate.value], ['found', { message: 'no answer' }])
  for (const job of [...running, first, second, other]) job.end()
  await settle()
  const again = many(17, () => arrive(lookups))
  await settle()
  t.equal(begun(again).filter(Boolean).length, 16, 'no place is lost, and none is won')
})

t.test('hosts of one IPv6 /48 count as one client', async (t) => {
  const lookups = new Lookups()
  for (let net = 1; net <= 16; net++) arrive(lookups, `2001:db8:0:${net}::1`)
  const rest = [arrive(lookups, '2001:db8:0:ff::1'), arrive(lookups, '2001:db8:1:1::1')]
  await settle()
  t.strictSame(begun(rest), [false, true])
})

t.test('a lookup behind 1,000 that wait gets a 503 at once', async (t) => {
  const lookups = new Lookups()
  const jobs = many(1016, () => arrive(lookups))
  const beyond = arrive(lookups)
  await settle()
  t.match(beyond.fate, {
    state: 'rejected',
    value: { code: 'ERR_AUTH_OVERLOADED', statusCode: 503, retryAfter: 1 },
  })
  for (const job of jobs) {
    job.end()
    await settle(1)
  }
  t.ok(jobs.every(({ fate }) => fate.value === 'found'))
})

t.test('no lookup starts for a client that has left', async (t) => {
  const lookups = new Lookups()
  const running = many(16, () => arrive(lookups))
  const gone = fakeRequest()
  const waiting = many(1000, () => arrive(lookups, undefined, gone))
  const last = arrive(lookups)
  gone.leave()
  await settle()
  t.ok(waiting.every(({ fate }) => fate.value === ABANDONED))
  t.equal((last.fate.value as Error).message, 'The server is busy. Please try again later.')
  const late = arrive(lookups, undefined, gone)
  const [closing, patient] = [arrive(lookups), arrive(lookups)] as const
  // The connection is destroyed, and has not said so yet.
  closing.socket.destroyed = true
  running[0]?.end()
  await settle()
  t.strictSame([late.fate.value, closing.fate.value], [ABANDONED, ABANDONED])
  t.strictSame(begun([...waiting, late, closing, patient]).indexOf(true), 1002, 'who stays is next')
})

t.test('lookups that wait get a 503 when the store is unavailable', async (t) => {
  const lookups = new Lookups()
  const [first, ...running] = many(16, () => arrive(lookups))
  const waiting = many(3, () => arrive(lookups))
  const unavailable = rejection('auth.overloaded', { code: 'ERR_AUTH_STORE_UNAVAILABLE' })
  first?.end(unavailable)
  await settle()
  t.ok(waiting.every(({ fate }) => fate.value === unavailable))
  t.ok(running.every(({ fate }) => fate.state === 'pending'))
  const next = arrive(lookups)
  await settle()
  t.equal(next.hasBegun, true)
})

t.test('beyond what all may run together, clients take turns', async (t) => {
  const lookups = new Lookups(20)
  const first = many(40, () => arrive(lookups))
  const others = Array.from({ length: 10 }, (_, at) => arrive(lookups, `127.0.1.${at}`))
  const gone = arrive(lookups, '127.0.2.1')
  await settle()
  const running = (): number => [...first, ...others].filter((job) => job.hasBegun).length
  t.strictSame([running(), begun(first).filter(Boolean).length], [20, 16])
  gone.leave()
  for (const job of first.slice(0, 7)) job.end()
  await settle()
  t.ok(begun(others).filter(Boolean).length >= 7, 'a client with one request waits for few others')
  for (const job of [...first, ...others, ...first]) {
    job.end()
    await settle()
  }
  t.ok([...first, ...others].every(({ fate }) => fate.value === 'found'))
  t.equal(gone.fate.value, ABANDONED)
  const again = [...many(17, () => arrive(lookups)), ...many(5, () => arrive(lookups, '127.0.3.1'))]
  await settle()
  t.equal(begun(again).filter(Boolean).length, 20, 'no place is lost, and none is won')
})
