import type { SessionError, SessionResult } from '../../types/browser.js'
import { limited, sleep } from './surroundings.js'

export type Send = (input: string | URL | Request, init?: RequestInit) => Promise<Response>
export interface Answer {
  readonly token?: string
  readonly refreshToken?: string
  readonly expiresIn?: number | null
  readonly message?: unknown
  readonly error?: unknown
}

export const failure = (message: string | null, status: number, retryAfter: number | null = null) =>
  Object.assign(new Error(message as string), { status, retryAfter })

/** Posts JSON, or gets where there is none. @param done - called if the server has done it, with when the request was sent */
export const call = async (
  request: Send,
  target: string | URL,
  body: object | undefined | Promise<object>,
  done: (answer: Answer | null, sent: number) => unknown,
  stop?: AbortController,
): Promise<SessionResult> => {
  try {
    const sent = Date.now()
    const sending = await body
    const response = await request(target, {
      method: sending ? 'POST' : 'GET',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(sending),
      // Each repetition gets a limit of its own: the user may take long to confirm.
      get signal() {
        return limited(30_000, stop)
      },
    })
    const { ok, status } = response
    const answer = (await response.json().catch((error: unknown) => {
      // A 200 that is no JSON is not from the API: it may be the page of a captive portal.
      if (ok && status !== 204) throw error
      return null
    })) as Answer | null
    // 202: a mail was sent, or a login asks for a second factor. No session has begun.
    if (ok && status !== 202) await done(answer, sent)
    const retryAfter = Number(response.headers.get('retry-after')) || null
    // By default the message is the `error`; Fastify's own errors have it in `message`.
    const texts = [answer?.message, answer?.error, `The server responded with ${status}.`]
    const error = ok ? null : (texts.find((text) => typeof text === 'string') as string)
    return { ok, status, error, body: answer, retryAfter }
  } catch (error) {
    const { status = 0, message, retryAfter = null } = error as Partial<SessionError>
    return {
      ok: false,
      status,
      error: status ? (message as string) : 'The server cannot be reached.',
      body: null,
      retryAfter,
    }
  }
}

/** Tries again if the server fails or cannot be reached. @param attempt - resolves to such a failure, or to another one */
export const persist = async (attempt: () => Promise<SessionResult | undefined>): Promise<void> => {
  const pauses = [1, 1, 2, Infinity]
  for (;;) {
    const failed = await attempt()
    if (!failed) return
    const { status, error, retryAfter } = failed
    const pause = Math.max(pauses.shift() as number, retryAfter as number)
    if (pause > 10 || (status && status < 500)) throw failure(error, status, retryAfter)
    await sleep(pause * 1000)
  }
}
