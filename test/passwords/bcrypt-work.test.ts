// program: its own
import bcrypt from 'bcrypt'
import type { FastifyInstance } from 'fastify'
import t, { type Test } from 'tap'
import type { AuthMark, AuthnOptions } from '../../lib/index.js'
import { appWith, basic, cost, passwords, secret, users } from '../helpers/app.js'
import {
  basicChallenge,
  bearerChallenge,
  isRejection,
  serviceOf,
  messages,
} from '../helpers/flows.js'

/** The costs of the hashes that passwords were compared with. */
const costs: number[] = []
const { compare, compareSync, hash, hashSync } = bcrypt

/** Counts every run of bcrypt, whichever function is called. */
t.before(() => {
  bcrypt.compare = ((password: string, stored: string, ...rest: []) => {
    costs.push(bcrypt.getRounds(stored))
    return compare(password, stored, ...rest)
  }) as typeof compare
  bcrypt.compareSync = (password, stored) => {
    costs.push(bcrypt.getRounds(stored))
    return compareSync(password, stored)
  }
  bcrypt.hash = (() => t.fail('nothing is hashed')) as never
  bcrypt.hashSync = () => t.fail('nothing is hashed') as never
})
t.teardown(() => Object.assign(bcrypt, { compare, compareSync, hash, hashSync }))

const list = new Map<unknown, object>(
  Object.entries({
    alice: { ...users[0] },
    invited: { name: 'invited', password: null },
    empty: { name: 'empty', password: '' },
    broken: { name: 'broken', password: users[0]?.password.slice(0, 40) },
  }),
)

const appFor = (t: Test, more: AuthnOptions = {}, use: AuthMark = { use: 'basic' }) =>
  appWith(
    t,
    { userService: serviceOf((name) => list.get(name)), jwt: { secret }, ...more },
    (app) => {
      app.get('/', { config: { auth: use } }, () => 'ran')
    },
  )

const ways = {
  login: (app: FastifyInstance, username: string, password: string) =>
    app.inject({ method: 'POST', url: '/login', payload: { username, password } }),
  basic: (app: FastifyInstance, username: string, password: string) =>
    app.inject({ url: '/', headers: basic(username, password) }),
}

/** The work of all runs since the last call, in rounds of bcrypt. */
const work = (): number => costs.splice(0).reduce((sum, each) => sum + 2 ** each, 0)

/** Credentials that are wrong for different reasons. */
const wrong: Record<string, [string, string]> = {
  'unknown user': ['unknown', passwords.alice],
  'wrong password': ['alice', 'wrong'],
  'a password of 100 bytes': ['alice', 'x'.repeat(100)],
  'the right password and more than 72 bytes': ['alice', passwords.alice.padEnd(100)],
  'a password of 100 bytes of an unknown user': ['unknown', 'x'.repeat(100)],
  'a password of 3000 bytes': ['alice', 'é'.repeat(1500)],
  'a password of one byte': ['alice', 'x'],
  'an account without password': ['invited', passwords.alice],
  'an account with an empty hash': ['empty', passwords.alice],
  'an account with a broken hash': ['broken', passwords.alice],
  'a name that is a property of objects': ['constructor', passwords.alice],
}

for (const way of ['login', 'basic'] as const) {
  t.test(`${way}: bcrypt runs once with the same cost, whatever is wrong`, async (t) => {
    const challenge = way === 'login' ? bearerChallenge : basicChallenge
    for (const [name, [username, password]] of Object.entries(wrong)) {
      const response = await ways[way](await appFor(t), username, password)
      isRejection(t, response, { error: messages.invalid, challenge }, name)
      t.strictSame(costs.splice(0), [cost], name)
    }
    t.equal((await ways[way](await appFor(t), 'alice', passwords.alice)).statusCode, 200)
    t.strictSame(costs.splice(0), [cost], 'and so does a success')
  })

  t.test(`${way}: a wrong password takes the work of hashing.cost`, async (t) => {
    const app = await appFor(t, { hashing: { cost: cost + 2 } })
    for (const name of ['unknown', 'alice', 'unknown', 'invited', 'alice']) {
      t.equal((await ways[way](app, name, 'wrong')).statusCode, 401)
      t.equal(work(), 2 ** (cost + 2), name)
    }
  })
}

t.test('configBasic beside basic: each wrong username takes the same work', async (t) => {
  const more = { basic: { username: 'admin', password: 'geheim' } }
  for (const use of [
    ['basic', 'configBasic'],
    ['configBasic', 'basic'],
  ]) {
    const app = await appFor(t, more, { use })
    for (const [name, password] of [
      ['admin', 'wrong'],
      ['admin', ''],
      ['unknown', 'geheim'],
      ['alice', 'geheim'],
    ] as const) {
      t.equal((await ways.basic(app, name, password)).statusCode, 401)
      t.strictSame(costs.splice(0), [cost], name)
    }
    t.equal((await ways.basic(app, 'admin', 'geheim')).statusCode, 200)
  }
})
