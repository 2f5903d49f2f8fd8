import bcrypt from 'bcrypt'
import type { FastifyServerOptions } from 'fastify'
import type { Test } from 'tap'
import type { AccountMail, AccountsOptions, AuthnOptions } from '../../lib/index.js'
import { appWith, cost, rawLines, secret, type TestApp } from './app.js'
import { clientOver, cookieOf, sessionOf, type Client, type Headers } from './client.js'
import type { AnyResponse } from './flows.js'

export { answerOf } from './client.js'

/** A stored user of {@link accountsApp}. */
export interface AccountUser {
  id: number
  email: string | null
  password: string | null
  data?: unknown
}

export const password = 'correct horse battery'
export const newPassword = 'another horse battery'
export const hash = bcrypt.hashSync(password, cost)

/** The address of the pages. */
export const pages = 'https://shop.example/account'

type Options = Partial<Omit<AuthnOptions, 'accounts'>>

export type AccountsApp = Awaited<ReturnType<typeof accountsApp>>

/** The header of a browser that has got this response. */
export const jarOf = (response: AnyResponse): Headers => ({ cookie: cookieOf(response) })

/** The functions of an app over a table in memory. As a database does, they return copies and compare with what is stored. */
export function accountsOver(table: AccountUser[]) {
  const isSame = (row: AccountUser, { email, passwordHash }: Parameters<Update>[2]): boolean =>
    row.email === email && row.password === passwordHash
  return {
    async findByUsername(name: string | number) {
      const row = table.find(({ id, email }) => String(id) === String(name) || email === name)
      return row && { ...row }
    },
    async create({ email, passwordHash, invitation }: Parameters<Create>[0]) {
      if (table.some((row) => row.email === email)) return undefined
      const id = Math.max(...table.map((row) => row.id)) + 1
      return table.push({ id, email, password: passwordHash, data: invitation })
    },
    async update(user: AccountUser, after: Parameters<Update>[1], before: Parameters<Update>[2]) {
      const row = table.find(({ id }) => id === user.id)
      if (row === undefined || !isSame(row, before)) return false
      Object.assign(row, { email: after.email, password: after.passwordHash })
      return true
    },
    async remove({ id }: AccountUser) {
      const at = table.findIndex((row) => row.id === id)
      if (at >= 0) table.splice(at, 1)
    },
  }
}
type Create = AccountsOptions<AccountUser>['create']
type Update = AccountsOptions<AccountUser>['update']

/** A table for {@link sqlAccounts}. */
export const accountsTable =
  'create table users (id serial primary key, email text unique, password text)'

type Query = (text: string, values: unknown[]) => Promise<{ rows: unknown[] }>

/** The functions of an app over PostgreSQL, with the statements that the documentation shows. */
export function sqlAccounts(query: Query) {
  const one = async (text: string, values: unknown[]) =>
    (await query(text, values)).rows[0] as object | undefined
  return {
    findByUsername: (name: string | number) =>
      one('select * from users where id::text = $1 or email = lower($1)', [String(name)]) as never,
    create: ({ email, passwordHash }: Parameters<Create>[0]) =>
      one(
        'insert into users (email, password) values ($1, $2) on conflict do nothing returning id',
        [email, passwordHash],
      ),
    update: (
      user: AccountUser,
      ...[after, before]: [Parameters<Update>[1], Parameters<Update>[2]]
    ) =>
      one(
        'update users set email = $1, password = $2 where id = $3 and email is not distinct from $4 and password is not distinct from $5 returning id',
        [after.email, after.passwordHash, user.id, before.email, before.passwordHash],
      ),
    remove: ({ id }: AccountUser) => one('delete from users where id = $1', [id]),
  }
}

/** An app with accounts, whose limits of e-mails are out of the way. */
export async function accountsApp(
  t: Test,
  accounts: Partial<AccountsOptions<AccountUser>> = {},
  options: Options = {},
  declare: (app: TestApp) => unknown = () => undefined,
  server: FastifyServerOptions = {},
) {
  const table: AccountUser[] = [
    { id: 1, email: 'alice@example.com', password: hash },
    { id: 2, email: 'bob@example.com', password: hash },
    { id: 3, email: 'carol@example.com', password: null },
  ]
  const asked: (string | number)[] = []
  const sent: AccountMail[] = []
  const { lines, stream } = rawLines()
  const { findByUsername, ...functions } = accountsOver(table)
  const all = {
    userService: {
      findByUsername(name: string | number) {
        asked.push(name)
        return findByUsername(name)
      },
    },
    jwt: { secret },
    login: { usernameField: 'email', subject: (user: object) => (user as AccountUser).id },
    sessions: true,
    errorBody: ({ code }: { code: string }) => ({ code }),
    accounts: {
      // Links have one slash nevertheless.
      url: `${pages}/`,
      ...functions,
      sendMail: (mail: AccountMail) => void sent.push(mail),
      limits: { perRecipient: 1000, perAddress: 1000 },
      ...accounts,
    },
    ...options,
  }
  const app = await appWith(
    t,
    all,
    (app) => {
      app.get('/me', { config: { auth: true } }, (request) => request.user)
      app.post<{ Body: { id: number } }>('/begin', (request, reply) =>
        app.authn.sessions.begin(request.body.id, request, reply),
      )
      return declare(app)
    },
    { logger: { stream }, ...server },
  )
  const client = clientOver(app)
  const { post, send } = client
  const mails = async (): Promise<AccountMail[]> => {
    await app.authn.accounts.settled()
    return sent.splice(0)
  }
  return {
    app,
    /** What the table holds: alice and bob, and carol, who has no password. */
    table,
    /** What `findByUsername` was asked for. */
    asked,
    /** What was logged. */
    lines,
    ...client,
    /** The e-mails since the last call, when all are sent. */
    mails,
    /** The user of an id, as the table holds it. */
    stored: (id: number) => table.find((row) => row.id === id),
    /** The token of the last of them with a link, after a request that has to be a 202. */
    async tokenOf(...request: Parameters<Client['send']>) {
      const answer = await send(...request)
      const token = (await mails()).map((mail) => mail.token).find(Boolean)
      if (answer !== '202 {}' || token === undefined) throw new Error(`${answer}, ${token}`)
      return token
    },
    /** Logs alice in, or another user, without a password. @returns the header of the access token */
    logIn: async (id = 1) => sessionOf(await post('/begin', { id })),
    /** The status of a login. */
    enter: async (email: string, password: string) =>
      (await post('/login', { email, password })).statusCode,
  }
}
