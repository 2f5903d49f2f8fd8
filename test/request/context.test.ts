import { setTimeout as later } from 'node:timers/promises'
import t from 'tap'
import { runAs, userFromContext } from '../../lib/request/context.js'
import { kContext, shared } from '../../lib/request/state.js'

const alice = { name: 'alice' }
const bob = { name: 'bob' }

t.test('runAs gives its user to all that the work starts, and to nothing else', async (t) => {
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

t.test('runAs returns what the work returns, and passes no arguments', async (t) => {
  const found = runAs(alice, (...args) => args.length)
  t.equal(found, 0, 'and it gets no arguments')
  const promise = runAs(alice, async () => {
    await later(1)
    return userFromContext()
  })
  t.type(promise, Promise)
  t.equal(userFromContext(), null, 'anonymous outside meanwhile')
  t.equal(await promise, alice)
})

t.test('nested calls of runAs restore the outer user, also after an error', async (t) => {
  const seen = await runAs(alice, async () => {
    const inner = runAs(bob, async () => {
      await later(1)
      const anonymous = await runAs(null, async () => {
        await later(1)
        return userFromContext()
      })
      return [anonymous, userFromContext()]
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

t.test('runAs throws for anything but an object and a function, without running it', async (t) => {
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

t.test('two copies of the module share the user of a context', async (t) => {
  const path = '../../lib/request/context.js?copy'
  const copy = (await import(path)) as typeof import('../../lib/request/context.js')
  t.not(copy.userFromContext, userFromContext, 'it is another copy')
  runAs(alice, () => t.equal(copy.userFromContext(), alice))
  copy.runAs(bob, () => t.equal(userFromContext(), bob))
  shared[kContext]?.run({ user: bob }, () => t.equal(userFromContext(), bob))
})
