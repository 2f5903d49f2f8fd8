import type { LightMyRequestResponse } from 'fastify'
import type { Test } from 'tap'
import { memoryApiKeys } from '../../lib/api-keys/index.js'
import {
  authn,
  channels,
  type AccountMail,
  type AuthnOptions,
  type UserEvent,
  type UserStore,
  type UserStoreFactory,
} from '../../lib/index.js'
import { memoryUsers } from '../../lib/users-table/index.js'
import { authnTesting, linkWith, logInWith } from '../../lib/testing/index.js'
import { jarOf, newPassword, pages } from './accounts.js'
import { cost, fastify, rawLines, secret } from './app.js'
import { bodyOf, clientOver, type Headers } from './client.js'
import { browser, origin, type Asked } from './passkeys.js'
import { codeNow, key } from './second-factor.js'

export const issuers = { corp: 'https://corp.example', club: 'https://club.example' }
const provider = (issuer: string) => ({ issuer, clientId: 'a', clientSecret: 'b' })

/** A store that calls this before each method: it may throw, or wait. */
export function watchedStore(
  before: (method: keyof UserStore) => unknown,
  factory = memoryUsers(),
): UserStoreFactory {
  const store = factory.open()
  const watched = Object.entries(store).map(([name, method]) => [
    name,
    async (...given: unknown[]) => {
      await before(name as keyof UserStore)
      return (method as (...given: unknown[]) => unknown)(...given)
    },
  ])
  return { ...factory, open: () => Object.fromEntries(watched) as UserStore }
}

export type UsersApp = Awaited<ReturnType<typeof usersApp>>

/** An app whose users are in a table of the package, with all features around it. */
export async function usersApp(t: Test, users: object = {}, options: object = {}) {
  const store = memoryUsers()
  const sent: AccountMail[] = []
  const events: UserEvent[] = []
  const { lines, stream } = rawLines()
  const app = fastify(t, { logger: { stream } })
  await app.register(authnTesting)
  await app.register(authn, {
    users: { store, ...users },
    jwt: { secret },
    hashing: { cost },
    errorBody: ({ code }: { code: string }) => ({ code }),
    sessions: true,
    cookies: { apps: true },
    accounts: {
      url: pages,
      remove: true,
      sendMail: (mail: AccountMail) => void sent.push(mail),
      limits: { perRecipient: 1000, perAddress: 1000 },
    },
    loginWith: { corp: provider(issuers.corp), club: provider(issuers.club) },
    secondFactor: { key, issuer: 'Shop', page: '/code' },
    passkeys: { origin, name: 'Shop' },
    apiKeys: { prefix: 'shop', store: memoryApiKeys() },
    ...options,
  } as unknown as AuthnOptions)
  app.get('/me', { config: { auth: true } }, (request) => request.user)
  app.get('/basic', { config: { auth: { use: 'basic' } } }, (request) => request.user)
  app.get('/key', { config: { auth: { use: 'apiKey' } } }, (request) => request.user)
  app.post('/support/passkeys', async (request) => {
    const { id } = request.body as { id: string }
    return { removed: await app.authn.passkeys.removeAll(id, request) }
  })
  await app.ready()
  const listen = (event: UserEvent) => void events.push(event)
  channels.user.subscribe(listen)
  t.teardown(() => channels.user.unsubscribe(listen))
  const client = clientOver(app)
  const { post } = client
  const mails = async (): Promise<AccountMail[]> => {
    await app.authn.accounts.settled()
    return sent.splice(0)
  }
  const logIn = (email: string, password = newPassword) => post('/login', { email, password })
  const enter = async (email: string): Promise<Headers> => jarOf(await logIn(email))
  return {
    app,
    store: store.open(),
    lines,
    ...client,
    mails,
    /** The actions since the last call. */
    actions: () => events.splice(0).map(({ action }) => action),
    logIn,
    /** Stores a user with {@link newPassword}. @returns the id */
    async create(email: string, more: object = {}): Promise<string> {
      const user = await app.authn.users.create({ email, password: newPassword, ...more }, null)
      events.length = 0
      return String(user?.id)
    },
    /** @returns the cookies of a login by password */
    enter,
    /** Logs in at a provider, whose account has this `sub`. */
    provide: (sub: string, claims: object = {}, name: keyof typeof issuers = 'corp') =>
      logInWith(app, name, { sub, ...claims }),
    connect: (headers: Headers, sub: string, name: keyof typeof issuers = 'corp') =>
      linkWith(app, name, { sub }, { headers }),
    /** Adds a passkey. @returns a function that logs in by it */
    async addPasskey(headers: Headers): Promise<() => Promise<LightMyRequestResponse>> {
      const device = browser()
      const asked = (await post('/passkeys/options', {}, headers)).json<Asked>()
      const response = device.create(asked.publicKey)
      await post('/passkeys', { token: asked.token, response, name: 'phone' }, headers)
      return async () => {
        const { token, publicKey } = (await post('/login/passkey/options', {})).json<Asked>()
        return post('/login/passkey', { token, response: device.get(publicKey) })
      }
    },
    /** Enables a second factor. @returns the secret, and the cookies of the new session */
    async enable(headers: Headers) {
      const { secret: code, token } = (await post('/second-factor/setup', {}, headers)).json<{
        secret: string
        token: string
      }>()
      const enabled = await post('/second-factor/enable', { token, code: codeNow(code) }, headers)
      return { code, headers: jarOf(enabled), answer: bodyOf(enabled) }
    },
  }
}
