import type { FastifyInstance } from 'fastify'
import type { Test } from 'tap'
import type { AuthnOptions, UserService } from '../../lib/index.js'
import { appWith, logLines } from './app.js'
import {
  deferred,
  isFault,
  isRefusal,
  isWelcome,
  listen,
  probe,
  send,
  type ExpectedRefusal,
} from './flows.js'

/** What becomes of the credentials of a request. */
export type Outcome =
  | { user: unknown }
  /** There are none: nobody passes where that is allowed. */
  | { none: ExpectedRefusal }
  /** They are wrong: nobody passes under `try` only. */
  | { wrong: ExpectedRefusal }

export interface Row {
  readonly name: string
  readonly headers: Record<string, string> | ((app: FastifyInstance) => Record<string, string>)
  readonly outcome: Outcome
}

/** An authenticator by name, and its twin that is `optional: true`, in the options of a plugin. */
export interface Candidate {
  readonly options: () => AuthnOptions
  readonly use: string | readonly string[]
  readonly lenient: string | readonly string[]
}

const modes = ['required', 'optional', 'try', 'lenient'] as const
type Mode = (typeof modes)[number]

/** The four ways of asking for a user, one route each. */
export function declareModes(
  app: FastifyInstance,
  { use, lenient }: Omit<Candidate, 'options'>,
  handler: ReturnType<typeof probe>['handler'],
): void {
  app.get('/required', { config: { auth: { use } } }, handler)
  app.get('/optional', { config: { auth: { mode: 'optional', use } } }, handler)
  app.get('/try', { config: { auth: { mode: 'try', use } } }, handler)
  app.get('/lenient', { config: { auth: { mode: true, use: lenient } } }, handler)
}

function refusalIn(mode: Mode, outcome: Outcome): ExpectedRefusal | null {
  if ('none' in outcome) return mode === 'required' ? outcome.none : null
  if ('wrong' in outcome) return mode === 'try' ? null : outcome.wrong
  return null
}

/** Each row against each mode: status, body, headers, and whether the handler ran. */
export async function runMatrix(
  t: Test,
  candidate: Candidate,
  rows: readonly Row[],
): Promise<void> {
  const { handler, take } = probe()
  const app = await appWith(t, candidate.options(), (app) => declareModes(app, candidate, handler))
  for (const [at, { name, headers, outcome }] of rows.entries()) {
    const sent = typeof headers === 'function' ? headers(app) : headers
    for (const mode of modes) {
      // An address for each row: nobody is throttled for the wrong passwords of the others.
      const remoteAddress = `10.0.0.${at}`
      const response = await app.inject({ url: `/${mode}`, headers: sent, remoteAddress })
      const refusal = refusalIn(mode, outcome)
      const title = `${name}, ${mode}`
      if (refusal === null) isWelcome(t, response, 'user' in outcome ? outcome.user : null, title)
      else isRefusal(t, response, refusal, title)
      t.equal(take(), refusal === null ? 1 : 0, `${title}: runs of the handler`)
    }
  }
}

/** User services that fail: what they do, and what the log has to say of it. */
const failing: Record<string, { answer: () => unknown; logged: RegExp }> = {
  rejects: {
    answer: () => Promise.reject(new Error('database is away')),
    logged: /database is away/,
  },
  'rejects with undefined': { answer: () => Promise.reject(), logged: /internal error/ },
  'throws at once': {
    answer: () => {
      throw new Error('no such table')
    },
    logged: /no such table/,
  },
  'throws a text': {
    answer: () => {
      throw 'a text' // oxlint-disable-line typescript/only-throw-error -- what some drivers do
    },
    logged: /internal error/,
  },
  'returns a string': { answer: () => 'alice', logged: /returned a string/ },
  'returns an empty string': { answer: () => '', logged: /returned a string/ },
  'returns true': { answer: () => true, logged: /returned a boolean/ },
  'returns false': { answer: () => false, logged: /returned a boolean/ },
  'returns a number': { answer: () => 0, logged: /returned a number/ },
  'returns an array': { answer: () => [{ name: 'alice' }], logged: /returned an array/ },
  'returns an empty array': { answer: () => [], logged: /returned an array/ },
  'returns a function': { answer: () => () => ({}), logged: /returned a function/ },
  'resolves with a string': { answer: async () => 'alice', logged: /returned a string/ },
  'resolves with an array': { answer: async () => [], logged: /returned an array/ },
  'resolves with true': { answer: async () => true, logged: /returned a boolean/ },
}

type WithService = (userService: UserService<object>) => AuthnOptions

/**
 * User services that fail: a 500 in every mode, never a 401 and never nobody; one line at level error
 * with the cause; and the next request works.
 */
export async function runFaults(
  t: Test,
  candidate: Omit<Candidate, 'options'> & { options: WithService },
  headers: Row['headers'],
  good: UserService<object>,
): Promise<void> {
  const { handler, take } = probe()
  const { lines, stream } = logLines()
  let answer: (() => unknown) | null = null
  const app = await appWith(
    t,
    candidate.options({
      findByUsername: (...args) =>
        answer === null ? good.findByUsername(...args) : (answer() as never),
    }),
    (app) => declareModes(app, candidate, handler),
    { logger: { level: 'info', stream } },
  )
  const sent = typeof headers === 'function' ? headers(app) : headers
  for (const [name, fault] of Object.entries(failing)) {
    answer = fault.answer
    for (const mode of modes) {
      const title = `the user service ${name}, ${mode}`
      lines.length = 0
      isFault(t, await app.inject({ url: `/${mode}`, headers: sent }), undefined, title)
      t.equal(take(), 0, `${title}: the handler did not run`)
      const errors = lines.filter(({ level }) => level === 50)
      t.equal(errors.length, 1, `${title}: one line at level error`)
      t.match(JSON.stringify(errors[0]), fault.logged, title)
    }
    answer = null
    isWelcome(t, await app.inject({ url: '/required', headers: sent }), 'alice', 'the next one')
    t.equal(take(), 1)
  }
}

/** A user service that never answers: the client's leaving ends the request, and nothing else waits. */
export async function runHanging(
  t: Test,
  candidate: Omit<Candidate, 'options'> & { options: WithService },
  headers: Row['headers'],
  good: UserService<object>,
): Promise<void> {
  await t.test('the user service hangs until the client leaves', async (t) => {
    const { handler, take } = probe()
    let hangs = true
    const asked = deferred()
    const left = deferred()
    const app = await appWith(
      t,
      candidate.options({
        findByUsername: (name, request) => {
          if (!hangs) return good.findByUsername(name, request)
          request.raw.socket.once('close', () => left.resolve())
          asked.resolve()
          return new Promise(() => undefined)
        },
      }),
      (app) => declareModes(app, candidate, handler),
      { forceCloseConnections: true },
    )
    const port = await listen(app)
    const sent = typeof headers === 'function' ? headers(app) : headers

    const client = new AbortController()
    const hanging = send(port, { path: '/required', headers: sent, signal: client.signal })
    await asked.promise
    hangs = false
    isWelcome(t, await send(port, { path: '/required', headers: sent }), 'alice', 'another client')
    t.equal(take(), 1)
    client.abort()
    await t.rejects(hanging, { name: 'AbortError' })
    await left.promise
    isWelcome(t, await send(port, { path: '/required', headers: sent }), 'alice', 'afterwards')
    t.equal(take(), 1, 'the handler never ran for the client that left')
    await app.close()
  })
}
