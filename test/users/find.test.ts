import t, { type Test } from 'tap'
import { findUser, isUsableName } from '../../lib/users/user.js'
import { rejectionOf, thrownBy } from '../helpers/errors.js'
import { requestWith } from '../helpers/fakes.js'
import type { UserService } from '../../types/user-service.js'

const request = requestWith({})
const user = { name: 'alice' }

/** A user service that gives one answer. */
function answering(answer: unknown): UserService {
  return { findByUsername: () => answer as object }
}

t.test('strings without control characters and finite numbers are usable names', async (t) => {
  const strings = ['alice', ' ', 'Ünal', '😀', '\u0080', "' OR 1=1 --", '__proto__', '\u200b']
  const long = ['x'.repeat(1024), 'é'.repeat(512)]
  for (const name of [...strings, ...long, 0, -0, -1, 1.5, Number.MAX_VALUE])
    t.ok(isUsableName(name), String(name).slice(0, 20))
  const tooLong = ['x'.repeat(1025), 'é'.repeat(513)]
  const broken = ['', '\ud800', 'a\udc00', '\udc00\ud800', NaN, Infinity, -Infinity]
  const others = [undefined, null, true, false, 1n, Symbol('x'), {}, ['alice'], [1], new Date()]
  const boxed = [Object('alice') as unknown, Object(1) as unknown, () => 'alice']
  const controls = [...Array(32).keys(), 0x7f].map((code) => `a${String.fromCharCode(code)}b`)
  for (const name of [...tooLong, ...broken, ...others, ...boxed, ...controls])
    t.notOk(isUsableName(name), typeof name)
})

/** An object with a `then`. */
function withThen(then: unknown): object {
  // oxlint-disable-next-line unicorn/no-thenable -- thenables are what is tested
  return { then }
}

t.test('the service is called as a method, with the name and the request', async (t) => {
  const service = {
    asked: [] as unknown[],
    findByUsername(...args: unknown[]) {
      this.asked.push(...args)
      return null
    },
  }
  findUser(service, 7, request)
  t.ok(service.asked[1] === request)
  t.strictSame([service.asked[0], service.asked.length], [7, 2])
})

t.test('a user is returned as it is, and null or undefined as null, sync or async', async (t) => {
  class User {
    name = 'alice'
  }
  for (const each of [{}, user, Object.create(null) as object, new User(), new Map()]) {
    t.equal(findUser(answering(each), 'x', request), each, 'not even a promise')
    t.equal(await findUser(answering(Promise.resolve(each)), 'x', request), each)
  }
  for (const none of [null, undefined]) {
    t.equal(findUser(answering(none), 'x', request), null)
    t.equal(await findUser(answering(Promise.resolve(none)), 'x', request), null)
  }
  const query = withThen((resolve: (user: object) => void) => resolve(user))
  t.equal(await findUser(answering(query), 'x', request), user, 'as query builders return it')
})

t.test('whatever a service throws or rejects with is a fault with that cause', async (t) => {
  const alike = Object.assign(new Error('401'), { code: 'ERR_AUTH_INVALID_CREDENTIALS' })
  const late = Object.assign(new Error('x'), { code: 'ERR_AUTH_USER_SERVICE_TIMEOUT' })
  for (const cause of [new Error('down'), alike, late, 'a string', null, undefined, 0]) {
    const throwing: UserService = {
      findByUsername() {
        throw cause
      },
    }
    // oxlint-disable-next-line typescript/prefer-promise-reject-errors -- apps reject with anything
    const rejecting = (): Promise<never> => Promise.reject(cause)
    const query = withThen((_: unknown, reject: (error: unknown) => void) => reject(cause))
    for (const { code, error } of [
      thrownBy(() => findUser(throwing, 'x', request)),
      await rejectionOf(findUser({ findByUsername: rejecting }, 'x', request)),
      await rejectionOf(findUser({ findByUsername: rejecting }, 'x', request, 1)),
      await rejectionOf(findUser(answering(query), 'x', request)),
    ]) {
      t.equal(code, 'ERR_AUTH_USER_SERVICE')
      t.match(error, { name: 'AuthenticationFault', statusCode: 500, message: /internal error/ })
      t.equal(error.cause, cause)
    }
  }
})

t.test('an array, a function or a primitive instead of a user is a fault', async (t) => {
  const wrong: [unknown, string][] = [
    [[user], 'an array'],
    [false, 'a boolean'],
    [0, 'a number'],
    [1n, 'a bigint'],
    ['', 'a string'],
    ['alice', 'a string'],
    [Symbol('x'), 'a symbol'],
    [() => ({}), 'a function'],
  ]
  for (const [answer, found] of wrong) {
    for (const { code, error } of [
      thrownBy(() => findUser(answering(answer), 'x', request)),
      await rejectionOf(findUser(answering(Promise.resolve(answer)), 'x', request)),
    ]) {
      t.equal(code, 'ERR_AUTH_USER_SERVICE', found)
      t.match(error.cause, { message: `findByUsername returned ${found}, expected` })
    }
  }
})

t.test('a service that exceeds the time-out gives a 503, whatever it does later', async (t) => {
  const timers = fakeTimers(t)
  let fail: (error: Error) => void = () => undefined
  const late = new Promise<null>((_, reject) => {
    fail = reject
  })
  const waiting = rejectionOf(findUser(answering(late), 'x', request, 1.2))
  t.equal(timers.delay(), 1200)
  timers.fire()
  const { code, error } = await waiting
  t.equal(code, 'ERR_AUTH_USER_SERVICE_TIMEOUT')
  t.match(error, { name: 'AuthenticationError', statusCode: 503, key: 'auth.overloaded' })
  t.equal((error as { retryAfter?: unknown }).retryAfter, 2, 'whole seconds')
  fail(new Error('after the time-out'))
  await new Promise(setImmediate)
  t.equal(timers.pending(), 0)
})

t.test('an answer in time leaves no timer', async (t) => {
  const timers = fakeTimers(t)
  t.equal(await findUser(answering(Promise.resolve(user)), 'x', request, 1), user)
  await rejectionOf(findUser(answering(Promise.reject(new Error('down'))), 'x', request, 1))
  t.equal(findUser(answering(user), 'x', request, 1), user)
  t.equal(timers.pending(), 0)
})

/** Timers that fire when the test says so. */
function fakeTimers(t: Test) {
  const timers = new Map<unknown, { callback: () => void; delay: number }>()
  t.intercept(globalThis, 'setTimeout', {
    value: (callback: () => void, delay: number) => {
      const timer = {}
      timers.set(timer, { callback, delay })
      return timer
    },
  })
  t.intercept(globalThis, 'clearTimeout', { value: (timer: unknown) => timers.delete(timer) })
  return {
    delay: () => [...timers.values()][0]?.delay,
    fire: () => timers.forEach(({ callback }) => callback()),
    pending: () => timers.size,
  }
}
