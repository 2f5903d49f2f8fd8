import { AuthenticationError } from '../../lib/errors/errors.js'
import t from 'tap'
import { findUser } from '../../lib/users/user.js'
import { rejectionOf, thrownBy } from '../helpers/errors.js'
import { requestWith } from '../helpers/fakes.js'
import type { UserService } from '../../types/user-service.js'

const request = requestWith({})
const user = { name: 'alice' }

/** A user service that gives one answer. */
function answering(answer: unknown): UserService {
  return { findByUsername: () => answer as object }
}

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

t.test('what a service throws is a 500 with that cause, unless it is a rejection', async (t) => {
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
  const own = new AuthenticationError('Suspended.')
  t.equal((await rejectionOf(findUser(answering(Promise.reject(own)), 'x', request))).error, own)
  t.equal(thrownBy(() => findUser(answering(own), 'x', request)).error, own, 'returned')
})

t.test('an array, a function or a primitive instead of a user is a 500', async (t) => {
  const wrong = [[user], false, 0, 1n, '', 'alice', Symbol('x'), () => ({})]
  for (const answer of wrong) {
    for (const { code, error } of [
      thrownBy(() => findUser(answering(answer), 'x', request)),
      await rejectionOf(findUser(answering(Promise.resolve(answer)), 'x', request)),
    ]) {
      const found = Array.isArray(answer) ? 'an array' : `a ${typeof answer}`
      t.equal(code, 'ERR_AUTH_USER_SERVICE', found)
      t.match(error.cause, { message: `findByUsername returned ${found}` })
    }
  }
})
