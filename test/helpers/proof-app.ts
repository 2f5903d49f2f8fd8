import type { Test } from 'tap'
import { memoryApiKeys } from '../../lib/api-keys/index.js'
import { authn, type AuthnOptions } from '../../lib/index.js'
import { memorySessions, type SessionStore, type SessionWatcher } from '../../lib/sessions/index.js'
import { accountsOver, hash } from './accounts.js'
import { secret, type TestApp } from './app.js'
import { sessionOf, type Headers } from './client.js'
import { browser, origin, passkeysOver, type StoredPasskey } from './passkeys.js'
import { startProvider } from './provider.js'
import { factorApp, factorsOver, key, type FactorUser } from './second-factor.js'
import { storeWith } from './sessions.js'
import type { AnyResponse } from './flows.js'

/** The users of {@link proofApp}, by what they have. */
export const people = { plain: 1, code: 2, passkey: 3, 'no password': 4 }
export type Person = keyof typeof people

interface Options {
  readonly passkeys?: object
  readonly options?: object
  /** The options of a scope `/other`, beside those that it needs. */
  other?(features: { readonly accounts: object; readonly secondFactor: object }): object
}

/** Long before a login is no longer recent, in seconds since 1970. */
export const stale = Math.floor(Date.now() / 1000) - 1200

const wish = { 'token-delivery': 'body' }
const codeOf = ({ code }: { code: string }): object => ({ code })

/** An app with all features, whose users have several things to prove, or none. */
export async function proofApp(t: Test, { passkeys = {}, options = {}, other }: Options = {}) {
  const table: FactorUser[] = Object.entries(people).map(([name, id]) => ({
    id,
    email: `${id}@shop.example`,
    password: name === 'no password' ? null : hash,
    secondFactor: null,
  }))
  const keys: StoredPasskey[] = []
  /** What is called before each function of the app, and before each call of the store of the sessions. */
  const steps = { before: async (_name: string): Promise<void> => undefined }
  const stepped = <T extends object>(of: string, functions: T): T => {
    const all = Object.entries(functions).map(([name, call]) => {
      const work = call as (...given: unknown[]) => unknown
      const step = async (...given: unknown[]) => {
        await steps.before(`${of} ${name}`)
        return work(...given)
      }
      return [name, step]
    })
    return Object.fromEntries(all) as T
  }
  /** The store, as another process has it, of whose revocations this one does not hear. */
  const outside = {} as SessionStore
  const store = storeWith((real) => {
    Object.assign(outside, real)
    const { create, list, revoke } = real
    const deaf = (watcher: SessionWatcher): SessionWatcher => ({
      revoked: () => undefined,
      caughtUp: () => watcher.caughtUp(),
      lost: (error) => watcher.lost(error),
    })
    return {
      ...stepped('store', { create, list, revoke }),
      watch: (watcher) => real.watch(deaf(watcher)),
    }
  }, memorySessions())
  const { update, findByUsername } = factorsOver(table)
  const userService = stepped('users', { findByUsername })
  const { findByUsername: _, ...functions } = accountsOver(table)
  const accounts = { ...stepped('accounts', functions), url: 'https://shop.example', sendMail() {} }
  const { url: issuer } = await startProvider(t)
  const all = {
    userService,
    sessions: { store },
    cookies: { apps: true },
    accounts,
    passkeys: { origin, name: 'Shop', ...stepped('passkeys', passkeysOver(keys)), ...passkeys },
    loginWith: { corp: { issuer, clientId: 'shop', username: () => null, link: () => true } },
    apiKeys: { prefix: 'shop', store: memoryApiKeys() },
    ...options,
  }
  const secondFactor = { ...stepped('factor', { update }), page: '/code' }
  const marks = { '/on': true, '/optional': 'optional', '/try': 'try', '/fresh': { fresh: 600 } }
  const setting = await factorApp(t, secondFactor, all, async (app: TestApp) => {
    const declareBegin = (scope: TestApp) =>
      scope.post<{ Body: { id: number; how?: object } }>('/begin', ({ body }, reply) =>
        scope.authn.sessions.begin(body.id, reply.request, reply, body.how),
      )
    declareBegin(app)
    for (const [url, auth] of Object.entries(marks))
      app.post(url, { config: { auth } as never }, ({ user }) => ({ user: user !== null }))
    if (other === undefined) return
    await app.register(
      async (scope) => {
        await scope.register(authn, {
          userService,
          jwt: { secret },
          login: { usernameField: 'email', subject: (user: object) => (user as FactorUser).id },
          sessions: { name: 'other' },
          throttle: false,
          errorBody: codeOf,
          ...other({ accounts, secondFactor: { key, issuer: 'Shop', update } }),
        } as unknown as AuthnOptions)
        declareBegin(scope)
      },
      { prefix: '/other' },
    )
  })
  const { app, post } = setting
  const rowOf = (person: Person): FactorUser =>
    table.find(({ id }) => id === people[person]) as FactorUser
  /** The header of a new session. No code is asked for, as on a remembered device. */
  const begin = async (person: Person, how: object = {}, path = '/begin'): Promise<Headers> => {
    const row = rowOf(person)
    const { secondFactor: text } = row
    row.secondFactor = null
    const begun = await post(path, { id: row.id, how }, wish)
    Object.assign(row, { secondFactor: text })
    return sessionOf(begun)
  }
  const asked = async (url: string, headers: Headers) =>
    JSON.parse((await post(url, {}, headers)).body) as { token: string; publicKey: object }
  const enabled = await setting.enable(await begin('code'))
  const owner = await begin('passkey')
  const passkey = browser()
  const { token, publicKey } = await asked('/passkeys/options', owner)
  const added = await post('/passkeys', { token, response: passkey.create(publicKey) }, owner)
  t.equal(added.statusCode, 201)
  const before = JSON.stringify([table, keys])
  const restore = (): void => {
    const [rows, stored] = JSON.parse(before) as [FactorUser[], StoredPasskey[]]
    table.splice(0, table.length, ...rows)
    keys.splice(0, keys.length, ...stored)
  }
  return {
    ...setting,
    /** Of the user with a code. */
    enabled,
    /** Of the user with a passkey. */
    passkey,
    keys,
    steps,
    outside,
    rowOf,
    begin,
    asked,
    restore,
    /** Sends a request to `GET /path` or `POST /path`, whose changes are undone. */
    async ask(route: string, headers: Headers, body: object): Promise<AnyResponse> {
      const [method = '', url = ''] = route.split(' ')
      const payload = method === 'POST' ? { payload: body } : {}
      const response = await app.inject({ method: method as 'POST', url, headers, ...payload })
      restore()
      return response
    },
  }
}
