import Fastify from 'fastify'
import type { Test } from 'tap'
import { authn, type AuthnOptions } from '../../lib/index.js'
import { cost, secret } from './app.js'
import { reveals } from './errors.js'
import { startupError } from './flows.js'

/** What features need besides their own option. */
export const base = {
  userService: { findByUsername: (): unknown => null },
  jwt: { secret },
  hashing: { cost },
  login: { subject: (user: object) => (user as { id: number }).id },
  sessions: true,
}

type Failure = Error & { code?: unknown }

/** The error of startup with a value of this option; undefined where there is none. @param taken - a route of the app */
export const failureWith =
  (option: string, others: object = base) =>
  (t: Test, value: unknown, more: object = {}, taken?: string): Promise<Failure | undefined> =>
    startupError(async () => {
      const app = Fastify()
      t.teardown(() => app.close())
      if (taken !== undefined)
        app.route({ method: ['GET', 'POST'], url: taken, handler: () => 'of the app' })
      await app.register(authn, { ...others, [option]: value, ...more } as AuthnOptions)
      await app.ready()
    })

/**
 * Startup fails for each value of each member, and the error names it.
 *
 * @param place - the object that has the members, such as `passkeys`
 * @param startWith - what startup fails with for an object of that place
 * @param bad - the values; the name of an inner member has a dot
 * @param secrets - what no error may reveal
 */
export async function everyOptionIsNamed(
  t: Test,
  place: string,
  startWith: (given: object) => Promise<Failure | undefined>,
  good: object,
  bad: Readonly<Record<string, readonly unknown[]>>,
  secrets: readonly string[] = [],
): Promise<void> {
  for (const [option, values] of Object.entries(bad)) {
    for (const value of values) {
      const [member = '', inner] = option.split('.')
      const given = { ...good, [member]: inner === undefined ? value : { [inner]: value } }
      const error = await startWith(given)
      const title = `${option}: ${JSON.stringify(value)}`
      t.equal(error?.code, 'ERR_AUTH_OPTION', title)
      t.ok(error?.message.includes(`${place}.${option}`), `${title}: ${error?.message}`)
      for (const secret of secrets) t.notOk(error && reveals(error, secret), title)
    }
  }
}

/** Startup fails where another option is missing, and the error says that this one needs it. */
export async function needs(
  t: Test,
  option: string,
  startWith: (more: object) => Promise<Failure | undefined>,
  needed: Readonly<Record<string, object>> = {
    sessions: { sessions: false },
    userService: { userService: undefined },
    'login.subject': { login: {} },
    login: { login: false },
  },
): Promise<void> {
  for (const [name, more] of Object.entries(needed)) {
    const error = await startWith(more)
    t.match(error, { code: 'ERR_AUTH_OPTION' }, name)
    const said = `option "${option}" is set, but it needs the option "${name}".`
    t.ok(error?.message.includes(said), String(error?.message))
  }
}
