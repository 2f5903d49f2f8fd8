import t from 'tap'
import { memorySessions } from '../../../lib/sessions/index.js'
import type { NewSession, Swap } from '../../../lib/sessions/index.js'

t.test('memory drops expired sessions, revocations and successors after their grace', async (t) => {
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
      revocationTtl: 10,
      maxPerUser: 9,
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
      revocationTtl: 10,
    } satisfies Swap)
  await begin('short', 10)
  await begin('long', 2e9)
  t.match(await swap('long-1', 'long-2'), { outcome: 'swapped' })
  t.match(await swap('long-1', 'long-3'), { outcome: 'repeated', sealed: 'sealed' })
  t.equal((await store.list('alice')).length, 2)
  await store.revoke({ sid: 'sid-short' }, 10)
  await begin('other', 10)
  now += 100
  await begin('last', 10)
  const told: string[] = []
  store.watch({
    revoked: (list) => told.push(...list.map(({ sid }) => sid)),
    caughtUp: () => told.push('caught up'),
    lost: () => undefined,
  })
  t.strictSame(told, ['caught up'], 'not the revocation of a session that has long expired')
  t.strictSame(
    (await store.list('alice')).map(({ sid }) => sid),
    ['sid-last', 'sid-long'],
  )
  now += 1e9
  await begin('new', 10)
  t.match(await swap('long-1', 'long-3'), { outcome: 'reused' })
})
