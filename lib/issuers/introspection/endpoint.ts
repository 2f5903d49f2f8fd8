import type { FastifyBaseLogger } from 'fastify'
import { isPlain, ownProperty } from '../../common/objects.js'
import { onceAMinute } from '../../common/once-a-minute.js'
import { channelOf } from '../../events.js'
import { metadataAddress } from '../../http/address.js'
import { FetchError, fetchMetadata, readJson, reasonOf, request } from '../../http/fetch.js'
import { pauseAfter, Renewed, since, type Outcome } from '../../http/renewed.js'
import { unavailable } from '../key-source.js'
import type { Send } from '../../http/fetch.js'
import type { Introspecting } from '../options.js'
import type { JwtClaims } from '../../../types/request-extra.js'

/** Milliseconds for a request, with the time that it waits; requests at a time; bytes of an answer. */
const [wholeTime, atOnce, answerBytes] = [5_000, 32, 64 * 1024]

/** The statuses by which a server rejects one odd token. */
const oddToken = new Set<unknown>([400, 413, 414, 431])

/** The claims have a boolean `active`; nothing else is checked. */
type Answer = Readonly<{ claims: JwtClaims; bytes: number }>

/** The address of an introspection endpoint, and the requests to it (RFC 7662 §2). */
export class Endpoint extends Renewed<URL> {
  readonly sent = { requests: 0, failures: 0 }
  #send: Send | undefined
  #problem: string | null = null
  #running = 0
  readonly #line: (() => void)[] = []
  #failuresInARow = 0
  #pausedAt = -Infinity
  /** Whether to log a failure, by its reason. */
  readonly #isDue = new Map<string, () => boolean>()

  constructor(
    private readonly issuer: Introspecting,
    private readonly log: FastifyBaseLogger,
  ) {
    super(wholeTime)
  }

  /** For the test kit: from now on, this function gets all requests. */
  replace(send: Send): void {
    this.#send = send
    this.document = new URL('https://localhost')
    this.#failuresInARow = 0
  }

  /** @throws (rejects) AuthenticationError with the status 503 */
  async ask(token: string): Promise<Answer> {
    const start = performance.now()
    this.#requireUsable()
    if (this.#running < atOnce) this.#running += 1
    else await new Promise<void>((enter) => this.#line.push(enter))
    try {
      this.#requireUsable()
      return await this.#askNow(token, wholeTime - (performance.now() - start))
    } finally {
      const enter = this.#line.shift()
      if (enter === undefined) this.#running -= 1
      else enter()
    }
  }

  unavailable(cause: string): Error {
    return unavailable(this.pause, cause)
  }

  /** Milliseconds. There is no pause after one or two failures in a row, which may be chance. */
  protected override get pause(): number {
    return Math.max(pauseAfter(this.#failuresInARow - 2) - since(this.#pausedAt), 0)
  }

  protected async fetch(signal: AbortSignal): Promise<URL> {
    const { issuer, introspection } = this.issuer
    if (introspection.endpoint !== undefined) return new URL(introspection.endpoint)
    const { introspection_endpoint: address } = await fetchMetadata(issuer, signal)
    const url = metadataAddress(issuer, address)
    if (url === null) throw new FetchError('they name no introspection_endpoint with https')
    return url
  }

  protected report({ reason }: Outcome): void {
    this.#problem = reason
  }

  #requireUsable(): void {
    if (!this.isOpen || this.pause > 0) throw this.unavailable('the last requests have failed')
  }

  async #askNow(token: string, left: number): Promise<Answer> {
    const [start, failuresBefore] = [performance.now(), this.#failuresInARow]
    let [answer, reason]: [Answer | null, string | null] = [null, null]
    this.sent.requests += 1
    try {
      answer = await this.limit((signal) => this.#post(token, signal), left)
      this.#failuresInARow = 0
    } catch (error) {
      reason = this.#fail(error, failuresBefore)
    }
    const duration = performance.now() - start
    const outcome = answer === null ? 'failed' : answer.claims.active ? 'active' : 'inactive'
    const { name: issuer, registration = '' } = this.issuer
    channelOf('introspection').publish({ registration, issuer, outcome, reason, duration })
    if (answer === null) throw this.unavailable(String(reason))
    return answer
  }

  async #post(token: string, signal: AbortSignal): Promise<Answer> {
    if (this.document === null) await this.begin()
    if (this.document === null) throw new FetchError(`the metadata are unusable: ${this.#problem}`)
    const init = { ...requestOf(token, this.issuer.introspection), signal }
    const response = await request(this.document, init, this.#send)
    const encoding = response.headers.get('content-encoding') ?? 'identity'
    if (encoding !== 'identity') throw new FetchError('the body is encoded')
    const { json, bytes } = await readJson(response, answerBytes)
    if (isPlain(json) && typeof ownProperty(json, 'active') === 'boolean') {
      return { claims: json, bytes }
    }
    throw new FetchError('the answer has no boolean "active"')
  }

  /** @param failuresBefore - of requests that fail at the same time, one makes the pause longer @returns the reason */
  #fail(error: unknown, failuresBefore: number): string {
    const [issuer, reason] = [this.issuer.name, reasonOf(error)]
    const { status } = error as { status?: number }
    this.sent.failures += 1
    if (!oddToken.has(status)) {
      this.document = null
      const isNew = this.#failuresInARow < 3 || this.#failuresInARow === failuresBefore
      if (isNew) [this.#failuresInARow, this.#pausedAt] = [this.#failuresInARow + 1, Date.now()]
    }
    const isDue = this.#isDue.get(reason) ?? onceAMinute()
    this.#isDue.set(reason, isDue)
    if (!this.isOpen || !isDue()) return reason
    const isRejected = status === 401 || status === 403
    const advice = isRejected && `: check the option issuers.${issuer}.introspection.clientSecret`
    const text = `An issuer could not be asked about a token${advice || ''}`
    this.log[isRejected ? 'error' : 'warn']({ issuer, reason, status }, text)
    return reason
  }
}

/** RFC 7662 §2.1, with credentials as in RFC 6749 §2.3.1. A redirect is not followed: its status is a failure. */
function requestOf(
  token: string,
  { clientId, clientSecret, authMethod }: Introspecting['introspection'],
): RequestInit {
  const isPost = authMethod === 'client_secret_post'
  const inBody = isPost && { client_id: clientId, client_secret: clientSecret }
  const encode = (text: string): string => String(new URLSearchParams([['', text]])).slice(1)
  const pair = Buffer.from(`${encode(clientId)}:${encode(clientSecret)}`).toString('base64')
  return {
    method: 'POST',
    redirect: 'manual',
    headers: {
      accept: 'application/json',
      'content-type': 'application/x-www-form-urlencoded',
      ...(!isPost && { authorization: `Basic ${pair}` }),
    },
    body: new URLSearchParams({ token, token_type_hint: 'access_token', ...inBody }),
  }
}
