import type { FastifyServerOptions } from 'fastify'
import type { Test } from 'tap'
import type { AnyAuthnOptions, SecondFactorOptions } from '../../lib/index.js'
import { totpCode } from '../../lib/testing/index.js'
import { hash, password } from './accounts.js'
import { clockOf } from './clock.js'
import { appWith, rawLines, secret, type TestApp } from './app.js'
import { cookiesOf } from './cookies.js'
import type { AnyResponse } from './flows.js'
import { bodyOf, clientOver, sessionOf, type Headers, type LoginAnswer } from './client.js'
import { eventsOf } from './sessions.js'

export { answerOf, bodyOf, sessionOf } from './client.js'
export { claimsOf as claimsIn } from './sessions.js'

/** A stored user of {@link factorApp}. */
export interface FactorUser {
  id: number
  email: string
  password: string | null
  secondFactor?: string | null
}

export const key = 'key-of-the-tests-key-of-the-tests-1'
export const otherKey = 'another-key-of-the-tests-another-key'
export const email = 'alice@example.com'

/** A user whose second factor is on. */
export interface Enabled {
  /** In Base32. */
  readonly secret: string
  readonly recoveryCodes: string[]
  /** Of the session that `enable` has begun. */
  readonly headers: Headers
}

export type FactorApp = Awaited<ReturnType<typeof factorApp>>

/** The functions of an app over a table in memory, which copies and compares as a database does. */
export function factorsOver(table: FactorUser[]) {
  return {
    async findByUsername(name: string | number) {
      const row = table.find((each) => String(each.id) === String(name) || each.email === name)
      return row && { ...row }
    },
    async update({ id }: FactorUser, after: string | null, before: string | null) {
      const row = table.find((each) => each.id === id)
      if (row === undefined || row.secondFactor !== before) return false
      row.secondFactor = after
      return true
    },
  }
}

/** A table for {@link sqlFactors}. */
export const factorsTable =
  'create table users (id serial primary key, email text unique, password text, "secondFactor" text)'

/** The functions of an app over PostgreSQL, with the statements that the documentation shows. */
export function sqlFactors(
  query: (text: string, values: unknown[]) => Promise<{ rows: unknown[] }>,
) {
  const one = async (text: string, values: unknown[]): Promise<unknown> =>
    (await query(text, values)).rows[0]
  return {
    findByUsername: (name: string | number) =>
      one('select * from users where id::text = $1 or email = lower($1)', [String(name)]),
    update: (user: { id: number }, after: string | null, before: string | null) =>
      one(
        'update users set "secondFactor" = $1 where id = $2 and "secondFactor" is not distinct from $3 returning id',
        [after, user.id, before],
      ),
  }
}

/** An app whose users can have a second factor. */
export async function factorApp(
  t: Test,
  secondFactor: Partial<SecondFactorOptions<FactorUser>> = {},
  options: object = {},
  declare: (app: TestApp) => unknown = () => undefined,
  server: FastifyServerOptions = {},
) {
  const table: FactorUser[] = [
    { id: 1, email, password: hash, secondFactor: null },
    { id: 2, email: 'bob@example.com', password: hash, secondFactor: null },
  ]
  const { lines, stream } = rawLines()
  const { findByUsername, update } = factorsOver(table)
  /** What is done before each look-up of a user. */
  const hooks = { lookUp: async (_name: string | number): Promise<unknown> => undefined }
  const all = {
    userService: {
      async findByUsername(name: string | number) {
        await hooks.lookUp(name)
        return findByUsername(name)
      },
    },
    jwt: { secret },
    login: { usernameField: 'email', subject: (user: object) => (user as FactorUser).id },
    sessions: true,
    throttle: false,
    errorBody: ({ code }: { code: string }) => ({ code }),
    secondFactor: { key, issuer: 'Shop', update, ...secondFactor },
    ...options,
  }
  const app = await appWith(
    t,
    all as unknown as AnyAuthnOptions,
    (app) => {
      app.get('/me', { config: { auth: true } }, (request) => request.user)
      app.get('/mfa', { config: { auth: { mfa: true, fresh: 600 } } }, () => 'in')
      return declare(app)
    },
    { logger: { stream }, ...server },
  )
  const events = eventsOf(t, 'secondFactor')
  const client = clientOver(app)
  const { post } = client
  /** Begins to enable a second factor. @returns its secret, and the body that enables it */
  const setUp = async (headers: Headers) => {
    const response = await post('/second-factor/setup', undefined, headers)
    const { secret, token } = bodyOf(response) as LoginAnswer & { secret: string }
    return { secret, body: { token, code: codeNow(secret) } }
  }
  /** Logs in with the password and nothing else. @returns the header of the access token */
  const logIn = async (user = email, typed = password): Promise<Headers> =>
    sessionOf(await post('/login', { email: user, password: typed }))
  return {
    app,
    /** What the table holds: alice and bob. */
    table,
    lines,
    events,
    hooks,
    ...client,
    /** What the app stores with by default. */
    store: update as SecondFactorOptions<FactorUser>['update'],
    logIn,
    /** Logs in with the password. @returns the token of the 202 */
    half: async (user = email) =>
      bodyOf(await post('/login', { email: user, password })).secondFactor.token,
    setUp,
    async enable(headers?: Headers): Promise<Enabled> {
      const own = headers ?? (await logIn())
      const { secret: base32, body } = await setUp(own)
      const response = await post('/second-factor/enable', body, own)
      if (response.statusCode !== 200) throw new Error(`not enabled: ${response.body}`)
      const { recoveryCodes } = bodyOf(response)
      return { secret: base32, recoveryCodes, headers: sessionOf(response) }
    },
    /** The user of an id, as the table holds it. */
    stored: (id = 1) => table.find((each) => each.id === id) as FactorUser,
  }
}

/** The cookie of the device that a response remembers. */
export function deviceOf(response: AnyResponse): { cookie: string } {
  const { name, value } = cookiesOf(response).find((each) => /device/.test(each.name)) ?? {}
  return { cookie: `${name}=${value}` }
}

/** The code that an app shows now. @param steps - later */
export const codeNow = (base32: string, steps = 0): string =>
  totpCode(base32, { at: Date.now() + steps * 30_000 })

/** A code of six digits that is wrong. */
export function wrongCode(base32: string): string {
  const right = new Set([-1, 0, 1, 2].map((steps) => codeNow(base32, steps)))
  const guesses = Array.from({ length: 5 }, (_, index) => String(index).repeat(6))
  return guesses.find((each) => !right.has(each)) as string
}

/** The clock of this process, which stands at the beginning of a step of codes. */
export function stepClock(t: Test) {
  const clock = clockOf(t)
  clock.advance(30 - ((Date.now() / 1000) % 30))
  return clock
}
