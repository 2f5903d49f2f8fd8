import t, { type Test } from 'tap'
import {
  appWith,
  logLines,
  passwords,
  secret,
  standardOptions,
  users,
  type TestUser,
} from '../helpers/app.js'
import { rejectionOf } from '../helpers/errors.js'
import { isFault } from '../helpers/flows.js'
import { claimsOf, clientOf, heldStore, pairOf, sessionApp } from '../helpers/sessions.js'
import type { AuthnOptions, LoginOptions } from '../../lib/index.js'

const spellings = ['alice', 'Alice', 'ALICE', ' alice']

/** An app whose users are found by any spelling, by their id and by what else `isFound` says. */
async function setting(t: Test, login: LoginOptions<TestUser> = {}, more: object = {}) {
  const { lines, stream } = logLines()
  const asked: unknown[] = []
  const state = { users: users.map((user) => ({ ...user, ...more })) }
  const options = {
    sessions: { store: heldStore().factory },
    userService: {
      findByUsername: (name: string | number) => {
        asked.push(name)
        const plain = String(name).trim().toLowerCase()
        return state.users.find((user) => user.name.toLowerCase() === plain || user.id === name)
      },
    },
    login: login as LoginOptions,
  }
  const app = await sessionApp(t, options, undefined, { logger: { stream } })
  const client = clientOf(app)
  const enter = async (username: string) =>
    pairOf(await client.post('/login', { username, password: passwords.alice }))
  const warnings = (): unknown[] => lines.filter(({ level }) => level === 40)
  return { app, state, asked, warnings, enter, ...client }
}

t.test('logins with any spelling of a name have one subject', async (t) => {
  const subject = (user: TestUser): string => user.name
  const { app, enter, me, refresh, warnings } = await setting(t, { subject })
  const pairs = []
  for (const name of spellings) pairs.push(await enter(name))
  for (const { token } of pairs) t.equal(claimsOf(token).sub, 'alice')
  const next = pairOf(await refresh(String(pairs.pop()?.refreshToken)))
  t.equal(claimsOf(next.token).sub, 'alice')
  t.equal((await app.authn.sessions.list('alice')).length, spellings.length)
  t.equal(await app.authn.sessions.revoke({ sub: 'alice' }), spellings.length)
  for (const { token } of [...pairs, next]) t.equal(await me(token), 401)
  t.strictSame(warnings(), [])
})

t.test('login.subject gets the typed name, and may return a number or a promise', async (t) => {
  const given: unknown[][] = []
  const fromName = (user: TestUser, username: string): string => {
    given.push([user.id, user.password, username])
    return username.trim().toLowerCase()
  }
  for (const [subject, sub] of [
    [async (user: TestUser) => user.id, 1],
    [fromName, 'alice'],
  ] as const) {
    const { enter, refresh, me, asked, app } = await setting(t, { subject })
    const first = await enter('ALICE')
    t.equal(claimsOf(first.token).sub, sub)
    asked.length = 0
    const second = pairOf(await refresh(first.refreshToken))
    t.equal(claimsOf(second.token).sub, sub)
    t.equal(await me(second.token), 200)
    t.strictSame(asked, [sub, sub], 'the user is looked up by the subject')
    t.equal(await app.authn.sessions.revoke({ sub }), 1)
  }
  const hash = users[0]?.password
  t.strictSame(given, [
    [1, hash, 'ALICE'],
    [1, hash, 'alice'],
  ])
})

t.test('login.subject sets sub without sessions, unless login.claims does', async (t) => {
  const options = (login: LoginOptions): AuthnOptions => ({ ...standardOptions(), login })
  const subject = (): string => 'one'
  const subOf = async (login: LoginOptions): Promise<unknown> =>
    claimsOf((await clientOf(await appWith(t, options(login))).login()).token).sub
  t.equal(await subOf({ subject }), 'one')
  t.equal(await subOf({ subject, claims: () => ({ team: 'red' }) }), 'one')
  t.equal(await subOf({ subject, claims: () => ({ sub: 'two' }) }), 'two')
  for (const [login, name] of [
    [{ subject, tokenFunc: () => 'x' }, /"login.subject".*"login.tokenFunc"/],
    [{ subject: 'name' }, /"login.subject": found/],
  ] as const) {
    const error = await rejectionOf(appWith(t, options(login as never)))
    t.match(error, { code: 'ERR_AUTH_OPTION', message: name })
  }
})

t.test('a login.subject that returns no usable name is a 500 without a token', async (t) => {
  const wrong = [undefined, '', true, NaN, ['alice'], 'a\0b', '\ud800', 'é'.repeat(513)]
  const throwing = (): never => {
    throw new TypeError('a getter of the user')
  }
  const subjects = [...wrong.map((value) => () => value), async () => undefined, throwing]
  for (const sessions of [true, false]) {
    let subject: () => unknown = () => 'alice'
    const login = { subject: () => subject() as string }
    const app = await sessionApp(t, { login, sessions })
    const { post, refresh, login: enter } = clientOf(app)
    const first = await enter()
    const alice = { username: 'alice', password: passwords.alice }
    for (subject of subjects) {
      isFault(t, await post('/login', alice), 'ERR_AUTH_TOKEN_FUNC')
    }
    if (!sessions) continue
    isFault(t, await refresh(first.refreshToken), 'ERR_AUTH_TOKEN_FUNC')
    t.equal((await app.authn.sessions.list('alice')).length, 1)
  }
})

t.test('a session whose user has another subject now is revoked', async (t) => {
  const { enter, refresh, me, state, app } = await setting(t, { subject: (user) => user.name })
  const { token, refreshToken } = await enter('Alice')
  state.users = state.users.map((user) => ({
    ...user,
    name: `${user.name}2`,
    id: 'alice' as never,
  }))
  t.equal((await refresh(refreshToken)).statusCode, 401)
  t.equal(await me(token), 401)
  t.strictSame(await app.authn.sessions.list('alice'), [])
})

t.test('a warning says once that a user has the name in another spelling', async (t) => {
  const told = async (names: string[], login?: LoginOptions<TestUser>, more?: object) => {
    const { enter, warnings, refresh } = await setting(t, login, more)
    for (const name of names) await refresh((await enter(name)).refreshToken)
    return warnings()
  }
  t.match(await told(['alice', 'Alice', 'ALICE']), [{ msg: /login.*subject/ }])
  t.equal((await told(['Alice', 'aLice'])).length, 1)
  t.equal((await told([' alice'])).length, 1)
  t.strictSame(await told(['alice', 'alice']), [])
  t.strictSame(await told(['Alice'], { claims: (_, user) => ({ sub: user.id }) }), [])
  t.strictSame(await told(['Alice'], {}, { email: 'Alice' }), [], 'a field has it as it was typed')
  const lines = JSON.stringify(await told(['ALICE']))
  t.notMatch(lines, /ALICE|wonderland|\$2b/)
})

t.test('failures count for the typed name, not for the subject', async (t) => {
  const options = { ...standardOptions(), throttle: { perUsername: 1 } }
  const app = await appWith(t, { ...options, jwt: { secret }, login: { subject: () => 'one' } })
  const { post } = clientOf(app)
  const statusOf = async (username: string, password: string): Promise<number> =>
    (await post('/login', { username, password })).statusCode
  t.equal(await statusOf('bob', 'wrong'), 401)
  t.equal(await statusOf('alice', passwords.alice), 200)
  t.equal(await statusOf('bob', passwords.bob), 429)
})
