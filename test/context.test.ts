import { setTimeout as later } from 'node:timers/promises'
import t from 'tap'
import { runWithoutUser, runWithUser, userFromContext } from '../lib/context.js'

const alice = { name: 'alice' }
const bob = { name: 'bob' }

t.test('nobody outside of a request', async (t) => {
  t.equal(userFromContext(), null)
})

t.test('the user of a request, in what it starts', async (t) => {
  const seen: unknown[] = []
  await new Promise<void>((resolve) => {
    runWithUser(alice, () => {
      seen.push(userFromContext())
      process.nextTick(() => seen.push(userFromContext()))
      setImmediate(() => {
        seen.push(userFromContext())
        resolve()
      })
    })
    seen.push(userFromContext())
  })
  t.strictSame(seen, [alice, null, alice, alice], 'and nobody beside it')
  t.equal(seen[0], alice, 'the very object')
})

t.test('two requests at once do not see each other', async (t) => {
  const seenBy = (user: { name: string }): Promise<unknown[]> =>
    new Promise((resolve, reject) => {
      runWithUser(user, () => {
        const first = userFromContext()
        later(1)
          .then(() => resolve([first, userFromContext()]))
          .catch(reject)
      })
    })
  t.strictSame(await Promise.all([seenBy(alice), seenBy(bob)]), [
    [alice, alice],
    [bob, bob],
  ])
})

t.test('a request of nobody that is injected by a request of somebody', async (t) => {
  let inner: unknown = 'not called'
  let after: unknown = 'not called'
  runWithUser(alice, () => {
    runWithoutUser(() => {
      inner = userFromContext()
    })
    after = userFromContext()
  })
  t.equal(inner, null)
  t.equal(after, alice)
})

t.test('a request of nobody', async (t) => {
  let called = 0
  runWithoutUser(() => {
    called += 1
    t.equal(userFromContext(), null)
  })
  t.equal(called, 1)
  runWithUser(null, () => t.equal(userFromContext(), null))
})

t.test('another copy of the module sees the same users', async (t) => {
  const path = '../lib/context.js?copy'
  const copy = (await import(path)) as typeof import('../lib/context.js')
  t.not(copy.userFromContext, userFromContext, 'it is another copy')
  runWithUser(alice, () => t.equal(copy.userFromContext(), alice))
  copy.runWithUser(bob, () => t.equal(userFromContext(), bob))
})
