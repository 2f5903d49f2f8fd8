import t, { type Test } from 'tap'
import { findUser, isUsableName } from '../../lib/users/user.js'
import { rejectionOf, thrownBy, type CaughtError } from '../helpers/errors.js'
import { requestWith } from '../helpers/fakes.js'
import type { UserService } from '../../types/user-service.js'

const request = requestWith({})

/** A user service that gives one answer. */
function answering(answer: unknown): UserService {
  return { findByUsername: () => answer as object }
}

t.test('usable names: non-empty text without control characters, and finite numbers', async (t) => {
  const usable = [
    'alice',
    ' ',
    'a b',
    'Ünal',
    '😀',
    '\u0080',
    "' OR 1=1 --",
    '__proto__',
    '0',
    '\u200b',
  ]
  for (const name of [
    ...usable,
    'x'.repeat(1024),
    'é'.repeat(512),
    0,
    -0,
    -1,
    1.5,
    Number.MAX_VALUE,
  ]) {
    t.ok(isUsableName(name), String(name).slice(0, 20))
  }
  const unusable = [
    '',
    'x'.repeat(1025),
    'é'.repeat(513),
    '\ud800',
    'a\udc00',
    '\udc00\ud800',
    NaN,
    Infinity,
    -Infinity,
  ]
  const others = [undefined, null, true, false, 1n, Symbol('x'), {}, [], ['alice'], [1], new Date()]
  const boxed = [Object('alice') as unknown, Object(1) as unknown, () => 'alice']
  for (const name of [...unusable, ...others, ...boxed]) {
    t.notOk(isUsableName(name), typeof name)
  }
  for (const code of [...Array(32).keys(), 0x7f]) {
    t.notOk(isUsableName(`a${String.fromCharCode(code)}b`), `U+${code.toString(16)}`)
  }
})

/** An object with a `then`. */
function withThen(then: unknown, object: object = {}): object {
  // oxlint-disable-next-line unicorn/no-thenable -- thenables are what is tested
  return Object.assign(object, { then })
}

t.test('the service is asked with the name and the request, on itself', async (t) => {
  const service = {
    asked: [] as unknown[],
    findByUsername(...args: unknown[]) {
      this.asked.push(...args)
      return null
    },
  }
  findUser(service, 'alice', request)
  findUser(service, 7, request)
  t.ok(service.asked[1] === request)
  t.strictSame([service.asked[0], service.asked[2], service.asked.length], ['alice', 7, 4])
})

t.test('users and nobody, at once and later', async (t) => {
  class User {
    name = 'alice'
  }
  const users = [{}, { name: 'alice' }, Object.create(null) as object, new User(), new Map()]
  for (const user of users) {
    t.equal(findUser(answering(user), 'x', request), user, 'not even a promise')
    t.equal(await findUser(answering(Promise.resolve(user)), 'x', request), user)
  }
  for (const nobody of [null, undefined]) {
    t.equal(findUser(answering(nobody), 'x', request), null)
    t.equal(await findUser(answering(Promise.resolve(nobody)), 'x', request), null)
  }
})

t.test('a thenable that is no Promise, as those of query builders', async (t) => {
  const user = { name: 'alice' }
  const query = withThen((resolve: (user: object) => void) => resolve(user))
  t.equal(await findUser(answering(query), 'x', request), user)
  const failing = withThen((_: unknown, reject: (error: Error) => void) =>
    reject(new Error('down')),
  )
  const { code } = await rejectionOf(findUser(answering(failing), 'x', request))
  t.equal(code, 'ERR_AUTH_USER_SERVICE')
})

/** A fault of the user service, with its cause. */
function isFault(t: Test, { code, error }: CaughtError, cause: unknown, title: string): void {
  t.equal(code, 'ERR_AUTH_USER_SERVICE', title)
  t.match(error, { name: 'AuthenticationFault', statusCode: 500 })
  t.equal(error.message, 'The request could not be authenticated because of an internal error.')
  t.equal(error.cause, cause, title)
}

t.test('a service that fails is a fault, whatever it throws', async (t) => {
  const alike = Object.assign(new Error('401'), { code: 'ERR_AUTH_INVALID_CREDENTIALS' })
  for (const cause of [new Error('down'), alike, 'a text', null, undefined, 0]) {
    const throwing: UserService = {
      findByUsername() {
        throw cause
      },
    }
    const rejecting: UserService = {
      // oxlint-disable-next-line typescript/prefer-promise-reject-errors -- apps reject with anything
      findByUsername: () => Promise.reject(cause),
    }
    isFault(
      t,
      thrownBy(() => findUser(throwing, 'x', request)),
      cause,
      'thrown',
    )
    const rejected = rejectionOf(findUser(rejecting, 'x', request))
    isFault(t, await rejected, cause, 'rejected')
  }
})

t.test('what is no user is a fault', async (t) => {
  const wrong: [unknown, string][] = [
    [[], 'an array'],
    [[{ name: 'alice' }], 'an array'],
    [true, 'a boolean'],
    [false, 'a boolean'],
    [0, 'a number'],
    [1n, 'a bigint'],
    ['', 'a string'],
    ['alice', 'a string'],
    [Symbol('x'), 'a symbol'],
    [() => ({}), 'a function'],
  ]
  for (const [answer, found] of wrong) {
    const caught = [
      thrownBy(() => findUser(answering(answer), 'x', request)),
      await rejectionOf(findUser(answering(Promise.resolve(answer)), 'x', request)),
    ]
    for (const { code, error } of caught) {
      t.equal(code, 'ERR_AUTH_USER_SERVICE', found)
      t.match(error.cause, {
        message: `findByUsername returned ${found}, expected an object, null or undefined.`,
      })
    }
  }
})

t.test('a service that takes too long', async (t) => {
  const timers = fakeTimers(t)
  const never = new Promise<null>(() => undefined)
  const waiting = rejectionOf(findUser(answering(never), 'x', request, 1.2))
  t.equal(timers.delay(), 1200)
  timers.fire()
  const { code, error } = await waiting
  t.equal(code, 'ERR_AUTH_USER_SERVICE_TIMEOUT')
  t.match(error, { name: 'AuthenticationError', statusCode: 503, key: 'auth.overloaded' })
  t.equal((error as { retryAfter?: unknown }).retryAfter, 2, 'whole seconds')
  t.equal(timers.pending(), 0)
})

t.test('an answer in time ends the waiting, and one that comes late is nobody', async (t) => {
  const timers = fakeTimers(t)
  const user = { name: 'alice' }
  t.equal(await findUser(answering(Promise.resolve(user)), 'x', request, 1), user)
  t.equal(timers.pending(), 0, 'no timer is left')
  const failing = Promise.reject(new Error('down'))
  const failed = await rejectionOf(findUser(answering(failing), 'x', request, 1))
  t.equal(failed.code, 'ERR_AUTH_USER_SERVICE')
  t.equal(timers.pending(), 0)
  t.equal(findUser(answering(user), 'x', request, 1), user, 'no timer for an answer at once')
  t.equal(timers.pending(), 0)

  let reject: (error: Error) => void = () => undefined
  const late = new Promise<null>((_, refuse) => {
    reject = refuse
  })
  const waiting = rejectionOf(findUser(answering(late), 'x', request, 1))
  timers.fire()
  t.equal((await waiting).code, 'ERR_AUTH_USER_SERVICE_TIMEOUT')
  reject(new Error('after the end'))
  await new Promise(setImmediate)
  t.pass('a failure that comes after the end disturbs nobody')
})

t.test('a service that imitates the timeout is a fault', async (t) => {
  const imitation = Object.assign(new Error('x'), { code: 'ERR_AUTH_USER_SERVICE_TIMEOUT' })
  const service = answering(Promise.reject(imitation))
  const { code } = await rejectionOf(findUser(service, 'x', request, 1))
  t.equal(code, 'ERR_AUTH_USER_SERVICE')
})

/** Timers that go off when the test says so. */
function fakeTimers(t: Test): {
  delay: () => number | undefined
  fire: () => void
  pending: () => number
} {
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
