import { randomUUID } from 'node:crypto'
import type { RouteOptions } from 'fastify'
import type { Test } from 'tap'
import { memoryApiKeys } from '../../lib/api-keys/index.js'
import { authn, type AccountMail, type AuthnOptions, type UserStore } from '../../lib/index.js'
import { memoryUsers } from '../../lib/users-table/index.js'
import { accountsOver, hash, jarOf, newPassword } from './accounts.js'
import { cost, fastify, rawLines, type TestApp } from './app.js'
import { entries } from './key-sets.js'
import { passkeysOver, type StoredPasskey } from './passkeys.js'
import { startProvider } from './provider.js'
import { factorsOver, key, type FactorUser } from './second-factor.js'

type Headers = Record<string, string>
type Body = Record<string, unknown>

/** A route of the plugin. */
export interface Row {
  readonly method: string
  readonly url: string
  /** Whether it is for users who are logged in. */
  readonly isOwn: boolean
  /** The types of the members of its body, as {@link typeOf} names them. */
  readonly members: Readonly<Record<string, string>>
  readonly needed: readonly string[]
}

function rowOf({ method, url: path, config, schema }: RouteOptions, id: string): Row {
  const { properties = {}, required = [] } = (schema?.body ?? {}) as {
    properties?: Record<string, { type?: string; anyOf?: { type: string }[] }>
    required?: string[]
  }
  const members = Object.entries(properties).map(([name, { type, anyOf = [] }]) => [
    name,
    type ?? anyOf.map((each) => each.type).join(' '),
  ])
  const { auth } = config as { auth?: { mode?: string } | false }
  const isOwn = typeof auth === 'object' && auth.mode !== 'try'
  const known = { url: path.replace(':id', id), isOwn, needed: required }
  return { ...known, method: String(method), members: Object.fromEntries(members) }
}

export function typeOf(value: unknown): string {
  return value === null ? 'null' : Array.isArray(value) ? 'array' : typeof value
}

const valid: Body = {
  email: 'alice@example.com',
  token: 'a.b.c',
  password: newPassword,
  currentPassword: 'wrong',
  response: {},
  everywhere: false,
  remember: false,
  returnTo: '/',
  roles: ['a'],
}
/** A body with all members, right in form and wrong in what it proves. A confirmation takes one way only. */
export const bodyOf = ({ members, url }: Row): Body =>
  url.endsWith('/login/confirm')
    ? { password: newPassword }
    : Object.fromEntries(Object.keys(members).map((name) => [name, valid[name] ?? 'a']))

interface Settings {
  readonly prefix?: string
  readonly before?: (app: TestApp) => unknown
  readonly table?: boolean
}

/** Stores an admin and another user. */
async function twoUsers(store: UserStore): Promise<[string, string]> {
  const ids: [string, string] = [randomUUID(), randomUUID()]
  const row = { name: null, password: hash, columns: {} }
  await store.create({ ...row, id: ids[0], email: 'alice@example.com', roles: ['admin'] }, null)
  await store.create({ ...row, id: ids[1], email: 'bob@example.com', roles: [] }, null)
  return ids
}

/** An app with all features. @param settings - `table`: over a table of the package, with an admin API for its user */
export async function wholeApp(
  t: Test,
  options: object = {},
  routeOptions: object = {},
  { prefix = '', before, table = false }: Settings = {},
) {
  const factory = memoryUsers()
  const store = factory.open()
  const [alice, bob] = table ? await twoUsers(store) : [1, '']
  const users: FactorUser[] = [
    { id: 1, email: 'alice@example.com', password: hash, secondFactor: null },
  ]
  const passkeys: StoredPasskey[] = []
  const asked: unknown[] = []
  const mails: AccountMail[] = []
  const { lines, stream } = rawLines()
  const { findByUsername, ...accounts } = accountsOver(users)
  const provider = await startProvider(t)
  const userService = {
    findByUsername(name: string | number) {
      asked.push(name)
      return findByUsername(name)
    },
  }
  const subject = (user: object): unknown => (user as FactorUser).id
  const own = <Given extends object>(given: Given) => (table ? {} : given)
  const all = {
    ...(table
      ? { users: { store: factory, admin: { auth: { role: 'admin' } } } }
      : { userService }),
    jwt: { keys: [entries.a], publish: true },
    hashing: { cost },
    throttle: false,
    errorBody: ({ code }: { code: string }) => ({ code }),
    login: { ...own({ usernameField: 'email', subject }), routeOptions },
    sessions: true,
    cookies: { sameSite: 'lax' },
    accounts: {
      ...(table ? { remove: true } : accounts),
      url: 'https://shop.example/account',
      sendMail: (mail: AccountMail) => void mails.push(mail),
      limits: { perRecipient: 1000, perAddress: 1000 },
      routeOptions,
    },
    mailLogin: { routeOptions },
    secondFactor: {
      key,
      issuer: 'Shop',
      page: '/code',
      ...own({ update: factorsOver(users).update }),
      routeOptions,
    },
    passkeys: {
      origin: 'https://shop.example',
      name: 'Shop',
      ...own(passkeysOver(passkeys)),
      routeOptions,
    },
    apiKeys: { prefix: 'shop', store: memoryApiKeys() },
    resource: { identifier: 'https://shop.example/api', authorizationServers: [provider.url] },
    loginWith: {
      corp: {
        issuer: provider.url,
        clientId: 'a',
        clientSecret: 'b',
        ...own({ username: () => null, link: () => true }),
      },
    },
    ...options,
  }
  const app = fastify(t, { logger: { stream } })
  await before?.(app)
  const rows: Row[] = []
  app.addHook('onRoute', (route) => {
    if (route.method !== 'HEAD') rows.push(rowOf(route, String(bob)))
  })
  const declare = async (scope: TestApp): Promise<void> => {
    await scope.register(authn, all as unknown as AuthnOptions)
    const own = rows.length
    scope.post<{ Body: { amr: string[] } }>('/begin', (request, reply) =>
      scope.authn.sessions.begin(alice, request, reply, request.body),
    )
    rows.splice(own)
  }
  await (prefix === '' ? declare(app) : app.register(declare, { prefix }))
  await app.ready()
  const post = (url: string, payload?: unknown, headers: Headers = {}, remoteAddress = '::1') =>
    app.inject({
      method: 'POST',
      url,
      remoteAddress,
      headers: {
        host: 'shop.example',
        ...(payload !== undefined && { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(payload !== undefined && {
        payload: typeof payload === 'string' ? payload : JSON.stringify(payload),
      }),
    })
  return {
    app,
    rows,
    posts: rows.filter(({ method }) => method === 'POST'),
    asked,
    mails,
    lines,
    alice,
    post,
    /** The users that are stored. */
    users: async () => JSON.stringify([users, await store.list({ limit: 200 })]),
    /** What is stored, and what was sent. */
    stored: async () => JSON.stringify([users, passkeys, mails, await store.list({ limit: 200 })]),
    /** Begins a session. */
    enter: async (amr = ['pwd', 'mfa']) => jarOf(await post(`${prefix}/begin`, { amr })),
  }
}
