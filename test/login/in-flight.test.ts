// A login whose password is being compared when the user changes.
import bcrypt from 'bcrypt'
import t, { type Test } from 'tap'
import { memorySessions } from '../../lib/sessions/index.js'
import { bearer, passwords, secret, type TestApp } from '../helpers/app.js'
import {
  bearerChallenge,
  deferred,
  isRejection,
  messages,
  type AnyResponse,
} from '../helpers/flows.js'
import { hashAtOnce, until, watchBcrypt } from '../helpers/load.js'
import { clientOf, pairOf, sessionApp } from '../helpers/sessions.js'
import type { AuthnOptions } from '../../lib/index.js'

const alice = { username: 'alice', password: passwords.alice }
const rejection = { error: messages.invalid, challenge: bearerChallenge }
const hashOf = (password: string, cost = 4): string => bcrypt.hashSync(password, cost)

interface Row {
  name: string
  password: unknown
  tokensValidAfter: number | null
}

/** An app with one user, of whom the service returns a copy, or always the same object. */
async function setting(t: Test, options: Partial<AuthnOptions> = {}, isSame = false) {
  const row: Row = { name: 'alice', password: hashOf(passwords.alice), tokensValidAfter: null }
  const rows = [row]
  const asked: unknown[] = []
  const wait: { gate: Promise<void> | null } = { gate: null }
  const app = await sessionApp(t, {
    userService: {
      findByUsername: async (name) => {
        asked.push(name)
        const found = rows.find((each) => each.name === name)
        const copy = found === undefined || isSame ? found : { ...found }
        await wait.gate
        return copy
      },
    },
    jwt: { secret, validAfterField: 'tokensValidAfter' },
    ...options,
  })
  return { app, row, rows, asked, wait, ...clientOf(app) }
}

/** A login that is held while its password is compared. */
async function held(t: Test, app: TestApp): Promise<{ finish(): Promise<AnyResponse> }> {
  const watch = watchBcrypt(t, true)
  const answer = clientOf(app).post('/login', alice)
  await until(() => watch.running.length === 1, 'it is compared')
  return {
    finish() {
      watch.hold(false)
      return answer
    },
  }
}

const now = (): number => Date.now() / 1000

const changes: Record<string, (row: Row, rows: Row[]) => unknown> = {
  'has another password': (row) => (row.password = hashOf('changed')),
  'has a locked password': (row) => (row.password = '!'),
  'has no password': (row) => (row.password = null),
  'lacks the field': (row) => Reflect.deleteProperty(row, 'password'),
  'has logged out everywhere': (row) => (row.tokensValidAfter = now()),
  'is gone': (_, rows) => rows.pop(),
}

for (const [name, change] of Object.entries(changes)) {
  t.test(`a login gets a 401 if its user ${name} once the password is compared`, async (t) => {
    for (const sessions of [true, false]) {
      for (const isSame of [false, true]) {
        const { app, row, rows } = await setting(t, { sessions }, isSame)
        const login = await held(t, app)
        change(row, rows)
        isRejection(t, await login.finish(), rejection, `${sessions} ${isSame}`)
        if (sessions) t.strictSame(await app.authn.sessions.list('alice'), [])
      }
    }
  })
}

t.test('a login succeeds after a change that came before it', async (t) => {
  const { row, login, me, app, asked } = await setting(t)
  row.tokensValidAfter = now()
  const { token } = await login()
  t.equal(await me(token), 200)
  t.strictSame(asked, ['alice', 'alice', 'alice'], 'the login asks twice')
  await app.authn.sessions.revoke({ sub: 'alice' })
  t.equal(await me((await login()).token), 200)
})

t.test('a login in flight succeeds if only the hash of its password changes', async (t) => {
  const row = { name: 'alice', password: hashOf(passwords.alice) }
  const userService = {
    findByUsername: () => ({ ...row }),
    updatePasswordHash: (_: object, hash: string) => (row.password = hash),
  }
  hashAtOnce(t, 4)
  const options = { userService, jwt: { secret }, hashing: { cost: 5 } }
  const app = await sessionApp(t, options)
  const { post } = clientOf(app)
  const all = await Promise.all([1, 2, 3, 4].map(() => post('/login', alice)))
  for (const response of all) pairOf(response)
  t.equal(bcrypt.getRounds(row.password), 5)
})

t.test('a login looks the user up twice only if its token could outlive a change', async (t) => {
  const tokenFunc = (): string => 'a token of the app'
  for (const [title, more, times] of [
    ['tokens that expire', { jwt: { secret } }, 1],
    ['sessions', { jwt: { secret }, sessions: true }, 2],
    ['validAfterField', {}, 2],
    ['tokens of the app', { jwt: { secret }, login: { tokenFunc } }, 2],
  ] as const) {
    const { asked, post } = await setting(t, { sessions: false, ...more })
    t.equal((await post('/login', alice)).statusCode, 200)
    t.equal(asked.length, times, title)
  }
})

/** Until the clock of a store in memory, which has milliseconds, shows another time. */
async function tick(): Promise<void> {
  const since = Date.now()
  await until(() => Date.now() > since + 2, 'it ticks')
}

/** A login of a user whom the service is still reading. */
async function heldAtUser({ asked, wait, post }: Awaited<ReturnType<typeof setting>>) {
  const { promise, resolve } = deferred()
  wait.gate = promise
  const before = asked.length
  const answer = post('/login', alice)
  await until(() => asked.length > before, 'the user is read')
  await tick()
  wait.gate = null
  return {
    finish(): Promise<AnyResponse> {
      resolve()
      return answer
    },
  }
}

t.test('a login during which all sessions of its user are revoked is a 401', async (t) => {
  const sessions = { store: memorySessions() }
  const [one, other] = [await setting(t, { sessions }), await setting(t, { sessions })]
  for (const [title, revoke] of Object.entries({
    'in this process': () => other.app.authn.sessions.revoke({ sub: 'alice' }),
    'in another one': () => one.app.authn.sessions.revoke({ sub: 'alice' }),
    async 'by a logout'() {
      const { token } = await one.login()
      return one.post('/logout', { everywhere: true }, bearer(token))
    },
  })) {
    const login = await heldAtUser(other)
    await revoke()
    isRejection(t, await login.finish(), rejection, title)
    t.strictSame(await other.app.authn.sessions.list('alice'), [], title)
    await tick()
    t.equal(await other.me((await other.login()).token), 200, `${title}: the next login`)
  }
  const login = await heldAtUser(other)
  await one.app.authn.sessions.revoke({ sub: 'bob' })
  t.equal(await other.me(pairOf(await login.finish()).token), 200, 'another user')
})
