import type { RouteOptions } from 'fastify'
import type { Test } from 'tap'
import { memoryApiKeys } from '../../lib/api-keys/index.js'
import { authn, type AccountMail, type AuthnOptions } from '../../lib/index.js'
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
  /** The types of the members of its body. */
  readonly members: Readonly<Record<string, string>>
  readonly needed: readonly string[]
}

function rowOf({ method, url, config, schema }: RouteOptions): Row {
  const { properties = {}, required = [] } = (schema?.body ?? {}) as {
    properties?: Record<string, { type: string }>
    required?: string[]
  }
  const members = Object.entries(properties).map(([name, { type }]) => [name, type])
  const { auth } = config as { auth?: { mode?: string } | false }
  const isOwn = typeof auth === 'object' && auth.mode !== 'try'
  const known = { url, isOwn, needed: required }
  return { ...known, method: String(method), members: Object.fromEntries(members) }
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
}
/** A body with all members, right in form and wrong in what it proves. A confirmation takes one way only. */
export const bodyOf = ({ members, url }: Row): Body =>
  url.endsWith('/login/confirm')
    ? { password: newPassword }
    : Object.fromEntries(Object.keys(members).map((name) => [name, valid[name] ?? 'a']))

/** An app with all features. */
export async function wholeApp(
  t: Test,
  options: object = {},
  routeOptions: object = {},
  { prefix = '', before }: { prefix?: string; before?: (app: TestApp) => unknown } = {},
) {
  const users: FactorUser[] = [
    { id: 1, email: 'alice@example.com', password: hash, secondFactor: null },
  ]
  const passkeys: StoredPasskey[] = []
  const asked: unknown[] = []
  const mails: AccountMail[] = []
  const { lines, stream } = rawLines()
  const { findByUsername, ...accounts } = accountsOver(users)
  const provider = await startProvider(t)
  const all = {
    userService: {
      findByUsername(name: string | number) {
        asked.push(name)
        return findByUsername(name)
      },
    },
    jwt: { keys: [entries.a], publish: true },
    hashing: { cost },
    throttle: false,
    errorBody: ({ code }: { code: string }) => ({ code }),
    login: {
      usernameField: 'email',
      subject: (user: object) => (user as FactorUser).id,
      routeOptions,
    },
    sessions: true,
    cookies: { sameSite: 'lax' },
    accounts: {
      ...accounts,
      url: 'https://shop.example/account',
      sendMail: (mail: AccountMail) => void mails.push(mail),
      limits: { perRecipient: 1000, perAddress: 1000 },
      routeOptions,
    },
    secondFactor: {
      key,
      issuer: 'Shop',
      page: '/code',
      update: factorsOver(users).update,
      routeOptions,
    },
    passkeys: {
      origin: 'https://shop.example',
      name: 'Shop',
      ...passkeysOver(passkeys),
      routeOptions,
    },
    apiKeys: { prefix: 'shop', store: memoryApiKeys() },
    resource: { identifier: 'https://shop.example/api', authorizationServers: [provider.url] },
    loginWith: {
      corp: {
        issuer: provider.url,
        clientId: 'a',
        clientSecret: 'b',
        username: () => null,
        link: () => true,
      },
    },
    ...options,
  }
  const app = fastify(t, { logger: { stream } })
  await before?.(app)
  const rows: Row[] = []
  app.addHook('onRoute', (route) => {
    if (route.method !== 'HEAD') rows.push(rowOf(route))
  })
  const declare = async (scope: TestApp): Promise<void> => {
    await scope.register(authn, all as unknown as AuthnOptions)
    const own = rows.length
    scope.post<{ Body: { amr: string[] } }>('/begin', (request, reply) =>
      scope.authn.sessions.begin(1, request, reply, request.body),
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
    users,
    post,
    stored: () => JSON.stringify([users, passkeys, mails]),
    /** Begins a session. */
    enter: async (amr = ['pwd', 'mfa']) => jarOf(await post(`${prefix}/begin`, { amr })),
  }
}
