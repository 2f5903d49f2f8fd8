import type { FastifyInstance } from 'fastify'
import type { Test } from 'tap'
import type { AuthnOptions } from '../../lib/index.js'
import { appWith } from './app.js'
import { isRefusal, isWelcome, probe, type ExpectedRefusal } from './flows.js'

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
