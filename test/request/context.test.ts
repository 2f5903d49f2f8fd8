import { setTimeout as later } from 'node:timers/promises'
import t from 'tap'
import { runAs, userFromContext } from '../../lib/request/context.js'
import { kContext, shared } from '../../lib/request/state.js'

const alice = { name: 'alice' }
const bob = { name: 'bob' }

t.test('nobody outside of a request', async (t) => {
  t.equal(userFromContext(), null)
})

t.test('the very object, in what the work starts, and nobody beside it', async (t) => {
  const seen: unknown[] = []
  await new Promise<void>((resolve) => {
    runAs(alice, () => {
      seen.push(userFromContext())
      process.nextTick(() => seen.push(userFromContext()))
      setImmediate(() => {
        seen.push(userFromContext())
        resolve()
      })
    })
    seen.push(userFromContext())
  })
  t.strictSame(seen, [alice, null, alice, alice])
  t.equal(seen[0], alice)
})

t.test('what the work returns is returned', async (t) => {
  t.equal(
    runAs(alice, (...args) => args.length),
    0,
    'and it gets no arguments',
  )
  const promise = runAs(alice, async () => {
    await later(1)
    return userFromContext()
  })
  t.type(promise, Promise)
  t.equal(userFromContext(), null, 'meanwhile nobody is here')
  t.equal(await promise, alice)
})

t.test('nested, and as it was before afterwards, also after an error', async (t) => {
  const seen = await runAs(alice, async () => {
    const inner = runAs(bob, async () => {
      await later(1)
      const nobody = await runAs(null, async () => {
        await later(1)
        return userFromContext()
      })
      return [nobody, userFromContext()]
    })
    const beside = userFromContext()
    t.throws(
      () =>
        runAs(bob, () => {
          throw new Error('from the work')
        }),
      { message: 'from the work' },
    )
    await t.rejects(
      runAs(bob, async () => {
        await later(1)
        throw new Error('later')
      }),
      { message: 'later' },
    )
    return [beside, ...(await inner), userFromContext()]
  })
  t.strictSame(seen, [alice, null, bob, alice])
  t.equal(userFromContext(), null)
})

t.test('two at once do not see each other', async (t) => {
  const seenBy = (user: object): Promise<unknown[]> =>
    runAs(user, async () => {
      const first = userFromContext()
      await later(1)
      return [first, userFromContext()]
    })
  t.strictSame(await Promise.all([seenBy(alice), seenBy(bob)]), [
    [alice, alice],
    [bob, bob],
  ])
})

t.test('what is no user is refused, and the work is not done', async (t) => {
  let done = 0
  const work = (): void => void (done += 1)
  const users = [undefined, false, true, 0, 'alice', Symbol('alice'), [], [alice], () => alice]
  for (const user of [...users, new Error('no user'), Promise.resolve(alice)]) {
    t.throws(() => runAs(user as never, work), {
      code: 'ERR_AUTH_CONTEXT',
      message: /^fastify-authn: runAs\(\): .*user/,
    })
  }
  for (const noWork of [undefined, null, {}, Promise.resolve()]) {
    t.throws(() => runAs(alice, noWork as never), {
      code: 'ERR_AUTH_CONTEXT',
      message: /expected a function/,
    })
  }
  t.equal(done, 0)
})

t.test('another copy of the module sees the same users', async (t) => {
  const path = '../../lib/request/context.js?copy'
  const copy = (await import(path)) as typeof import('../../lib/request/context.js')
  t.not(copy.userFromContext, userFromContext, 'it is another copy')
  runAs(alice, () => t.equal(copy.userFromContext(), alice))
  copy.runAs(bob, () => t.equal(userFromContext(), bob))
  shared[kContext]?.run({ user: bob }, () => t.equal(userFromContext(), bob))
})
