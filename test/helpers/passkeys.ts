import type { FastifyServerOptions } from 'fastify'
import type { Test } from 'tap'
import type { AuthnOptions, Passkey, PasskeysOptions } from '../../lib/index.js'
import { virtualPasskey, type VirtualPasskey } from '../../lib/testing/index.js'
import { hash, password } from './accounts.js'
import { appWith, rawLines, secret, type TestApp } from './app.js'
import { clientOver, sessionOf, type Client, type Headers } from './client.js'

/** A stored user of {@link passkeysApp}. */
export interface PasskeyUser {
  id: number
  email: string | null
  password: string | null
}

export interface StoredPasskey {
  owner: number
  data: Passkey
}

export const [origin, rpId] = ['https://shop.example', 'shop.example']

/** The options of a ceremony. */
export interface Asked {
  token: string
  publicKey: { challenge: string; excludeCredentials: object[] }
}

export type PasskeysApp = Awaited<ReturnType<typeof passkeysApp>>

/** The functions of an app over a table in memory. As a database does, they return copies and compare with what is stored. */
export function passkeysOver(table: StoredPasskey[]): Omit<PasskeysOptions, 'origin' | 'name'> {
  const copy = (data: Passkey): Passkey => JSON.parse(JSON.stringify(data)) as Passkey
  const idOf = (user: unknown): number => (user as PasskeyUser).id
  return {
    list: async (user) =>
      table.filter(({ owner }) => owner === idOf(user)).map(({ data }) => copy(data)),
    async add(user, passkey) {
      if (table.some(({ data }) => data.id === passkey.id)) return undefined
      return table.push({ owner: idOf(user), data: copy(passkey) })
    },
    async update(_user, after, before) {
      const row = table.find(({ data }) => JSON.stringify(data) === JSON.stringify(before))
      if (row === undefined) return false
      row.data = copy(after)
      return true
    },
    async remove(user, id) {
      const at = table.findIndex(({ owner, data }) => owner === idOf(user) && data.id === id)
      if (at >= 0) table.splice(at, 1)
    },
  }
}

export const browser = (): VirtualPasskey => virtualPasskey({ origin, rpId })

/** An app with passkeys. */
export async function passkeysApp(
  t: Test,
  passkeys: Partial<PasskeysOptions> = {},
  options: Partial<AuthnOptions> = {},
  declare: (app: TestApp) => unknown = () => undefined,
  server: FastifyServerOptions = {},
) {
  const users: PasskeyUser[] = [
    { id: 1, email: 'alice@example.com', password: hash },
    { id: 2, email: 'bob@example.com', password: hash },
    { id: 3, email: 'carol@example.com', password: null },
  ]
  const table: StoredPasskey[] = []
  const found: (string | number)[] = []
  const { lines, stream } = rawLines()
  const all = {
    userService: {
      async findByUsername(name: string | number) {
        found.push(name)
        const row = users.find(({ id, email }) => String(id) === String(name) || email === name)
        return row && { ...row }
      },
    },
    jwt: { secret },
    login: { usernameField: 'email', subject: (user: object) => (user as PasskeyUser).id },
    sessions: true,
    errorBody: ({ code }: { code: string }) => ({ code }),
    throttle: false,
    passkeys: { origin, name: 'Shop', ...passkeysOver(table), ...passkeys },
    ...options,
  }
  const app = await appWith(
    t,
    all as AuthnOptions,
    async (app) => {
      app.get('/me', { config: { auth: true } }, ({ user }) => user)
      app.get('/mfa', { config: { auth: { mfa: true, fresh: 600 } } }, () => 'in')
      app.post<{ Body: { id: number; how?: object } }>('/begin', ({ body }, reply) =>
        app.authn.sessions.begin(body.id, reply.request, reply, body.how),
      )
      await declare(app)
    },
    { logger: { stream }, ...server },
  )
  const client = clientOver(app)
  const post: Client['post'] = (url, body = {}, headers = {}) => client.post(url, body, headers)
  /** The options of a ceremony. */
  const ask = async (url: string, headers: Headers = {}): Promise<Asked> => {
    const response = await post(url, {}, headers)
    if (response.statusCode !== 200) throw new Error(`${response.statusCode} ${response.body}`)
    return response.json()
  }
  /** The body of a log-in with a passkey. */
  const answer = async (passkey: VirtualPasskey) => {
    const { token, publicKey } = await ask('/login/passkey/options')
    return { token, response: passkey.get(publicKey) }
  }
  return {
    app,
    users,
    /** What the table holds. */
    table,
    /** What `findByUsername` was asked for. */
    found,
    lines,
    ...client,
    post,
    ask,
    answer,
    /** The header of a session that has just proved all that changes of passkeys need. */
    logIn: async (id = 1) => sessionOf(await post('/begin', { id, how: { amr: ['pwd', 'mfa'] } })),
    async add(passkey: VirtualPasskey, headers: Headers, name?: string) {
      const { token, publicKey } = await ask('/passkeys/options', headers)
      const response = passkey.create(publicKey)
      return post('/passkeys', { token, response, ...(name !== undefined && { name }) }, headers)
    },
    enter: async (passkey: VirtualPasskey) => post('/login/passkey', await answer(passkey)),
  }
}

export { password }
