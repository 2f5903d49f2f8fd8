import bcrypt from 'bcrypt'
import Fastify, { type FastifyInstance, type FastifyServerOptions } from 'fastify'
import type { Test } from 'tap'
import {
  authn,
  type AnyAuthnOptions,
  type AuthnOptions,
  type UserService,
} from '../../lib/index.js'

/** 256, 384 and 512 bits. */
export const secret = 'test-secret-test-secret-test-sec'
export const secret512 = secret + secret

/** A stored user as the tests have them. */
export interface TestUser {
  id: number
  name: string
  password: string
}

/** The least cost that bcrypt takes: the tests hash a lot. */
export const cost = 4
export const passwords = { alice: 'wonderland', bob: 'le bricoleur' }
export const users: readonly TestUser[] = [
  { id: 1, name: 'alice', password: bcrypt.hashSync(passwords.alice, cost) },
  { id: 2, name: 'bob', password: bcrypt.hashSync(passwords.bob, cost) },
]

/** A user service over {@link users} that remembers what it was asked for. */
export interface TestUserService extends UserService<TestUser> {
  asked: (string | number)[]
}

export function userService(list: readonly TestUser[] = users): TestUserService {
  const asked: (string | number)[] = []
  return {
    asked,
    findByUsername: async (username) => {
      asked.push(username)
      const found = list.find(({ name }) => name === username)
      return found === undefined ? null : { ...found }
    },
  }
}

/** Options of a plugin with users and tokens. */
export function standardOptions(): AuthnOptions<TestUser> & { userService: TestUserService } {
  return { userService: userService(), jwt: { secret } }
}

/** An app as tests use it. */
export type TestApp = FastifyInstance

/** An app without the plugin, closed when the test ends. */
export function fastify(t: Test, server: FastifyServerOptions = {}): TestApp {
  const app = Fastify(server)
  t.teardown(() => app.close())
  return app
}

/**
 * An app with the plugin, closed when the test ends. Unknown users cost no more than known ones: without
 * `hashing.cost`, 50 ms each.
 *
 * @param declare - declares routes, after the plugin
 */
export async function appWith(
  t: Test,
  options: AnyAuthnOptions,
  declare: (app: TestApp) => unknown = () => undefined,
  server: FastifyServerOptions = {},
): Promise<TestApp> {
  const app = fastify(t, server)
  const { hashing } = options
  const hasOwn = hashing?.algorithm !== undefined
  const cheap = hasOwn ? hashing : { cost, ...hashing }
  await app.register(authn, { ...options, hashing: cheap as AuthnOptions['hashing'] })
  await declare(app)
  await app.ready()
  return app
}

/** An `Authorization` header of Basic. */
export function basic(username: string, password: string): { authorization: string } {
  return { authorization: `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}` }
}

/** An `Authorization` header of Bearer. */
export function bearer(token: string): { authorization: string } {
  return { authorization: `Bearer ${token}` }
}

/** Collects the lines that an app logs, as they are written. */
export function rawLines(): { lines: string[]; stream: { write(line: string): void } } {
  const lines: string[] = []
  return { lines, stream: { write: (line) => void lines.push(line) } }
}

/** Collects the lines that an app logs. */
export function logLines() {
  const lines: Record<string, unknown>[] = []
  const write = (line: string): void => void lines.push(JSON.parse(line) as object as never)
  return { lines, stream: { write } }
}
