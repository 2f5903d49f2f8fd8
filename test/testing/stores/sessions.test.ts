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
const faulty: Readonly<Record<string, readonly [change: Change, caseName: RegExp]>> = {
  'an idle time that is ignored': [
    (store) => ({ create: (given) => store.create({ ...given, idle: 1000 }) }),
    /idle time/,
  ],
  'a lifetime without end': [
    (store) => ({ create: (given) => store.create({ ...given, lifetime: 1000 }) }),
    /end of its lifetime/,
  ],
  'digests in what is found': [
    (store) => ({
      async find(handle) {
        const { session, now } = await store.find(handle)
        return { now, session: session && { ...session, handle } }
      },
    }),
    /is found, as it was given/,
  ],
  'strings that are trimmed': [
    (store) => ({ create: (given) => store.create({ ...given, data: given.data.trim() }) }),
    /strings come back/,
  ],
  'the oldest first': [
    (store) => ({ list: async (sub) => (await store.list(sub)).toReversed() }),
    /the newest first/,
  ],
  'another successor for each request': [
    (store) => ({
      async swap(swap) {
        const result = await store.swap(swap)
        return result.outcome === 'repeated' ? { ...result, sealed: swap.sealed } : result
      },
    }),
    /the same successor|200 uses/,
  ],
  'a grace that does not end': [
    (store) => ({ swap: (swap) => store.swap({ ...swap, grace: 1000 }) }),
    /after the grace|without a grace/,
  ],
  'no grace': [
    (store) => ({ swap: (swap) => store.swap({ ...swap, grace: 0 }) }),
    /same successor/,
  ],
  'revocations that are kept as long as the caller says': [
    (store) => ({ create: (given) => store.create({ ...given, revocationTtl: 0 }) }),
    /largest time/,
  ],
  'sessions without end': [
    (store) => ({ create: (given) => store.create({ ...given, maxPerUser: 1000 }) }),
    /beyond maxPerUser/,
  ],
  'revocations of users that are not reported': [
    (store) => ({
      create: async (given) => ({ ...(await store.create(given)), userRevocation: null }),
    }),
    /all sessions of a user is told/,
  ],
  'revocations of users without their process': [
    (store) => ({ revoke: (which, ttl) => store.revoke(which, ttl, 'someone') }),
    /all sessions of a user is told/,
  ],
  'a deadline that is ignored': [
    (store) => ({ swap: (swap) => store.swap({ ...swap, deadline: Number.MAX_VALUE }) }),
    /after its deadline/,
  ],
  'a swap for each request': [
    (store) => ({
      async swap(swap) {
        const result = await store.swap(swap)
        if (result.outcome !== 'repeated') return result
        return { outcome: 'swapped', session: result.session, now: result.now }
      },
    }),
    /200 uses/,
  ],
  'revocations that are not counted once': [
    (store) => ({
      revoke: async (which, ttl) => [
        ...(await store.revoke(which, ttl)),
        { sid: 'sid' in which ? which.sid : '', until: 1 },
      ],
    }),
    /revoked by its sid/,
  ],
  'revocations of one session only': [
    (store) => ({
      async revoke(which, ttl) {
        const [first] = 'sub' in which ? await store.list(which.sub) : []
        return store.revoke(first === undefined ? which : { sid: first.sid }, ttl)
      },
    }),
    /all sessions of a user/,
  ],
  'earlier revocations that are not reported': [
    (store) => ({
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
    }),
    /revoked before is reported/,
  ],
  'a store that says that it is away, and is not': [
    (store) => ({
      watch(watcher) {
        watcher.lost(new Error('away'))
        store.watch(watcher)
      },
    }),
    /within a second/,
  ],
  'a store that cannot be closed': [() => ({ close: async () => undefined }), /was closed/],
}

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
