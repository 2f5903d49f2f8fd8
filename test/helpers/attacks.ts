import { deepStrictEqual } from 'node:assert'
import type { Test } from 'tap'
import type { AuthnOptions, UserService } from '../../lib/index.js'
import { appWith, rawLines, type TestUser } from './app.js'
import { isRejection, isWelcome, messages, probe, same } from './flows.js'

/** A user service that finds a user under every name: whatever reaches it is accepted. */
export interface CredulousService extends UserService<TestUser> {
  readonly asked: (string | number)[]
}

export function credulousService(password: string): CredulousService {
  const asked: (string | number)[] = []
  return {
    asked,
    findByUsername: async (name) => {
      asked.push(name)
      return { id: 1, name: 'alice', password }
    },
  }
}

// oxlint-disable-next-line no-control-regex -- control characters are what it looks for
const controls = /[\u0000-\u001f\u007f]/

/** The names that no user service may be asked for. */
export function unusable(asked: readonly unknown[]): unknown[] {
  return asked.filter((name) =>
    typeof name === 'number'
      ? !Number.isFinite(name)
      : typeof name !== 'string' ||
        name === '' ||
        name.length > 1024 ||
        controls.test(name) ||
        !name.isWellFormed(),
  )
}

const marks = ['required', 'optional', 'try'] as const

/** An app with three routes for each authenticator, `/<use>/<mark>`, and all that it lets out. */
export async function target(
  t: Test,
  service: CredulousService,
  options: AuthnOptions,
  uses: Readonly<Record<string, string | readonly string[]>>,
) {
  const { lines, stream } = rawLines()
  const { handler, take } = probe()
  const app = await appWith(
    t,
    { userService: service, throttle: false, ...options },
    (app) => {
      for (const [path, use] of Object.entries(uses)) {
        app.get(`/${path}/required`, { config: { auth: { use } } }, handler)
        app.get(`/${path}/optional`, { config: { auth: { mode: 'optional', use } } }, handler)
        app.get(`/${path}/try`, { config: { auth: { mode: 'try', use } } }, handler)
      }
    },
    { logger: { level: 'debug', stream } },
  )
  /** How many headers have been sent to a use. */
  const turns = new Map<string, number>()
  return { app, service, lines, take, turns }
}
export type Target = Awaited<ReturnType<typeof target>>

/** What a header is taken for: no credentials at all, or wrong ones; and how it is rejected. */
export interface Expected {
  readonly kind: 'none' | 'wrong'
  readonly error: string
  readonly challenge: string | readonly string[]
}

/**
 * Asserts that a header is rejected where a user is required, and at `optional`, unless it counts as no credentials; at
 * `try` it is anonymous. `optional` and `try` are asked in turn, one for each header. The handler runs only for anonymous
 * requests.
 */
export async function isRejected(
  t: Test,
  { app, take, turns }: Target,
  use: string,
  authorization: string,
  expected: Expected,
  message: string,
): Promise<void> {
  const turn = (turns.get(use) ?? 0) + 1
  turns.set(use, turn)
  for (const mark of ['required', turn % 2 === 0 ? 'try' : 'optional']) {
    const response = await app.inject({ url: `/${use}/${mark}`, headers: { authorization } })
    const isAnonymous = mark === 'try' || (mark === 'optional' && expected.kind === 'none')
    const title = `${use}, ${mark}: ${message}`
    if (isAnonymous) isWelcome(t, response, null, title)
    else isRejection(t, response, expected, title)
    const vary = isAnonymous ? undefined : 'Accept-Language'
    same(t, [take(), response.headers.vary], [isAnonymous ? 1 : 0, vary], `${title}: handler ran`)
  }
}

const knownMessages: readonly string[] = Object.values(messages)

/** The same for what was generated, which may count as none or as wrong. It throws, for fast-check. */
export async function assertRejected(
  { app, take, service }: Target,
  use: string,
  authorization: string,
): Promise<void> {
  for (const mark of marks) {
    const response = await app.inject({ url: `/${use}/${mark}`, headers: { authorization } })
    const { statusCode, body } = response
    const { error, user } = JSON.parse(body) as { error?: string; user?: unknown }
    const runs = take()
    const rejected = statusCode === 401 && runs === 0 && knownMessages.includes(String(error))
    const passed = mark !== 'required' && statusCode === 200 && runs === 1 && user === null
    const fits = mark === 'try' ? passed : rejected || passed
    deepStrictEqual(
      { fits, mark, statusCode, body, runs },
      { fits: true, mark, statusCode, body, runs },
    )
  }
  deepStrictEqual(unusable(service.asked), [])
}

/** Nothing secret is in the log, no line of it is an error, and only usable names were looked up. */
export function isQuiet(
  t: Test,
  { lines, service }: Pick<Target, 'lines' | 'service'>,
  secrets: readonly string[],
): void {
  const log = lines.join('')
  t.same(
    secrets.filter((secret) => log.includes(secret)),
    [],
    'nothing secret is in the log',
  )
  t.same(
    lines.filter((line) => /^\{"level":[56]0/.test(line)),
    [],
    'nothing failed',
  )
  t.same(unusable(service.asked), [], 'only usable names were looked up')
}
