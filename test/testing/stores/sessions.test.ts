import t from 'tap'
import { memorySessions } from '../../../lib/sessions/index.js'
import { sessionStoreSuite } from '../../../lib/testing/index.js'
import { everyFaultIsFound } from '../../helpers/store-faults.js'
import { storeWith } from '../../helpers/sessions.js'
import type { SessionStore } from '../../../types/sessions.js'

t.test('sessionStoreSuite() finds nothing in a right store', async (t) => {
  const cases = sessionStoreSuite((prefix) => memorySessions({ prefix }))
  t.ok(cases.length > 15)
  await Promise.all(cases.map(({ name, run }) => t.resolves(run(), name)))
})

type Change = (store: SessionStore) => Partial<SessionStore>

/** Stores with one fault each, and the case that finds it. */
const faulty: Record<string, [change: Change, caseName: RegExp]> = {}
const fault = (title: string, caseName: RegExp, change: Change): unknown =>
  (faulty[title] = [change, caseName])
fault('an idle time that is ignored', /idle time/, (store) => ({
  create: (given) => store.create({ ...given, idle: 1000 }),
}))
fault('a lifetime without end', /end of its lifetime/, (store) => ({
  create: (given) => store.create({ ...given, lifetime: 1000 }),
}))
for (const [limit, caseName] of [
  ['idle', /idle time/],
  ['lifetime', /end of its lifetime/],
] as const)
  fault(`a session whose ${limit} has passed when it begins`, caseName, (store) => ({
    create: (given) => store.create({ ...given, [limit]: 0 }),
  }))
fault('digests in what is found', /is found, as it was given/, (store) => ({
  async find(handle) {
    const { session, now } = await store.find(handle)
    return { now, session: session && { ...session, handle } }
  },
}))
fault('strings that are trimmed', /strings come back/, (store) => ({
  create: (given) => store.create({ ...given, data: given.data.trim() }),
}))
fault('the oldest first', /the newest first/, (store) => ({
  list: async (sub) => (await store.list(sub)).toReversed(),
}))
fault('another successor for each request', /the same successor|200 uses/, (store) => ({
  async swap(swap) {
    const result = await store.swap(swap)
    return result.outcome === 'repeated' ? { ...result, sealed: swap.sealed } : result
  },
}))
fault('a grace that does not end', /after the grace|without a grace/, (store) => ({
  swap: (swap) => store.swap({ ...swap, grace: 1000 }),
}))
fault('no grace', /same successor/, (store) => ({
  swap: (swap) => store.swap({ ...swap, grace: 0 }),
}))
fault('revocations that are kept as long as the caller says', /largest time/, (store) => ({
  create: (given) => store.create({ ...given, revocationTtl: 0 }),
}))
fault('sessions without end', /beyond maxPerUser/, (store) => ({
  create: (given) => store.create({ ...given, maxPerUser: 1000 }),
}))
fault('a sid that is used again', /used once/, (store) => ({
  create: (given) => store.create({ ...given, once: 0 }),
}))
fault('a sid that is free again with its session', /used once/, (store) => ({
  create: (given) => store.create({ ...given, once: Math.min(given.once, given.lifetime) }),
}))
fault('revocations of users that are not reported', /all sessions of a user is told/, (store) => ({
  async create(given) {
    const created = await store.create(given)
    return created && { ...created, userRevocation: null }
  },
}))
fault('revocations of users without their process', /all sessions of a user is told/, (store) => ({
  revoke: (which, ttl) => store.revoke(which, ttl, 'someone'),
}))
fault('a deadline that is ignored', /after its deadline/, (store) => ({
  swap: (swap) => store.swap({ ...swap, deadline: Number.MAX_VALUE }),
}))
fault('a swap for each request', /200 uses/, (store) => ({
  async swap(swap) {
    const result = await store.swap(swap)
    if (result.outcome !== 'repeated') return result
    return { outcome: 'swapped', session: result.session, now: result.now }
  },
}))
fault('revocations that are not counted once', /revoked by its sid/, (store) => ({
  revoke: async (which, ttl) => [
    ...(await store.revoke(which, ttl)),
    { sid: 'sid' in which ? which.sid : '', until: 1 },
  ],
}))
fault('revocations of one session only', /all sessions of a user/, (store) => ({
  async revoke(which, ttl) {
    const [first] = 'sub' in which ? await store.list(which.sub) : []
    return store.revoke(first === undefined ? which : { sid: first.sid }, ttl)
  },
}))
fault('earlier revocations that are not reported', /revoked before is reported/, (store) => ({
  watch(watcher) {
    let isReady = false
    store.watch({
      revoked: (list, now) => void (isReady && watcher.revoked(list, now)),
      caughtUp: () => {
        isReady = true
        watcher.caughtUp()
      },
      lost: (error) => watcher.lost(error),
    })
  },
}))
fault('a store that says that it is away, and is not', /within a second/, (store) => ({
  watch(watcher) {
    watcher.lost(new Error('away'))
    store.watch(watcher)
  },
}))
fault('a store that cannot be closed', /was closed/, () => ({ close: async () => undefined }))

t.test('sessionStoreSuite() finds every fault of a store', async (t) => {
  await everyFaultIsFound(t, faulty, (change) =>
    sessionStoreSuite((prefix) => storeWith(change, memorySessions({ prefix }))),
  )
})

t.test('sessionStoreSuite() finds a store that ignores its name or prefix', async (t) => {
  const one = memorySessions()
  const cases = sessionStoreSuite((prefix) => ({ ...one, prefix, open: () => one.open('x') }))
  const apart = cases.find(({ name }) => name.startsWith('registrations'))
  await t.rejects(async () => apart?.run())
})

t.test(
  'a suite opens each store in two processes, unless it is local, and closes it',
  async (t) => {
    for (const isLocal of [false, true]) {
      const seen = { made: 0, opened: 0, closed: 0 }
      const real = memorySessions()
      const counted = storeWith(({ close }) => {
        seen.opened += 1
        return {
          async close() {
            seen.closed += 1
            await close()
          },
        }
      }, real)
      const [first] = sessionStoreSuite((prefix) => {
        seen.made += 1
        return { ...counted, prefix, isLocal }
      })
      await first?.run()
      t.ok(seen.opened >= 2)
      t.strictSame([seen.made, seen.closed], [isLocal ? 1 : 2, seen.opened])
    }
  },
)
