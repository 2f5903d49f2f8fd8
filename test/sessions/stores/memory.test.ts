// Also holds lib/sessions/stores/memory-space.ts.
import t from 'tap'
import { memorySessions } from '../../../lib/sessions/index.js'
import { sessionStoreSuite } from '../../../lib/testing/index.js'
import type { NewSession, Swap } from '../../../lib/sessions/index.js'

t.test('the contract', async (t) => {
  for (const { name, run } of sessionStoreSuite((prefix) => memorySessions({ prefix }))) {
    t.test(name, run)
  }
})

t.test('what is over is forgotten, and successors are when their grace is over', async (t) => {
  let now = 1000
  const store = memorySessions({ now: () => now }).open('x')
  const begin = (handle: string, lifetime: number): Promise<unknown> =>
    store.create({
      sid: `sid-${handle}`,
      sub: 'alice',
      handle,
      current: `${handle}-1`,
      lifetime,
      idle: lifetime,
      address: '',
      userAgent: '',
      data: '',
    } satisfies NewSession)
  const swap = (presented: string, next: string): ReturnType<typeof store.swap> =>
    store.swap({
      handle: 'long',
      presented,
      next,
      sealed: 'sealed',
      grace: 1e9,
      idle: 2e9,
      deadline: 1e12,
      keepEnd: 10,
    } satisfies Swap)
  await begin('short', 10)
  await begin('long', 2e9)
  t.match(await swap('long-1', 'long-2'), { outcome: 'swapped' })
  t.match(await swap('long-1', 'long-3'), { outcome: 'repeated', sealed: 'sealed' })
  t.equal((await store.list('alice')).length, 2)
  await store.end({ sid: 'sid-short' }, 10)
  await begin('other', 10)
  now += 100
  await begin('last', 10)
  const told: string[] = []
  await store.watch({
    ended: (ends) => told.push(...ends.map(({ sid }) => sid)),
    caughtUp: () => told.push('caught up'),
    lost: () => undefined,
  })
  t.strictSame(told, ['caught up'], 'the end of a session that is long over')
  t.strictSame(
    (await store.list('alice')).map(({ sid }) => sid),
    ['sid-last', 'sid-long'],
  )
  now += 1e9
  await begin('new', 10)
  t.match(await swap('long-1', 'long-3'), { outcome: 'reused' })
})
