import { randomBytes } from 'node:crypto'
import type { FastifyBaseLogger } from 'fastify'
import { isPlain, ownProperty } from '../../common/objects.js'
import { onceAMinute } from '../../common/once-a-minute.js'
import { channelOf } from '../../events.js'
import { metadataAddress } from '../../http/address.js'
import { FetchError, fetchMetadata, readJson, reasonOf, request } from '../../http/fetch.js'
import { pauseAfter, Renewed, since, unavailable, type Outcome } from '../../http/renewed.js'
import type { Fetch } from '../../http/fetch.js'
import type { Introspecting } from '../options.js'
import type { JwtClaims } from '../../../types/request-extra.js'

/** Milliseconds for a request; bytes of an answer; milliseconds without a success from which failures may have a reason. */
const [wholeTime, answerBytes, doubtful] = [5_000, 64 * 1024, 1_000]

/** The statuses by which a server rejects one odd token. */
const oddToken = new Set<unknown>([400, 413, 414, 431])

/** The claims have a boolean `active`; nothing else is checked. */
type Answer = Readonly<{ claims: JwtClaims; bytes: number }>

/**
 * The address of an introspection endpoint, and the requests to it (RFC 7662 §2). A client, or many, may send tokens that
 * the server or its firewall does not like, so after failures we ask about a random one. While that fails, requests are
 * rejected for 1, 2, 4 … 30 seconds. After each pause one goes through, beside another random token.
 */
export class Endpoint extends Renewed<URL> {
  readonly sent = { requests: 0, failures: 0 }
  #send: Fetch | undefined
  #problem: string | null = null
  #failuresInARow = 0
  #succeededAt = -Infinity
  #failedProbes = 0
  #isProbing = false
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
  replace(send: Fetch): void {
    this.#send = send
    this.document = new URL('https://localhost')
    this.#failuresInARow = this.#failedProbes = 0
  }

  /** @throws (rejects) AuthenticationError with the status 503 */
  async ask(token: string): Promise<Answer> {
    const isDown = this.#failedProbes > 0
    if (!this.isOpen || this.pause > 0 || (isDown && this.#isProbing)) {
      throw unavailable('ERR_AUTH_ISSUER_UNAVAILABLE', this.pause, 'the server is down')
    }
    if (isDown) void this.#probe()
    const start = performance.now()
    let [answer, reason]: [Answer | null, string | null] = [null, null]
    this.sent.requests += 1
    try {
      answer = await this.#request(token)
    } catch (error) {
      reason = this.#fail(error, start)
    }
    const duration = performance.now() - start
    const outcome = answer === null ? 'failed' : answer.claims.active ? 'active' : 'inactive'
    const { name: issuer, registration = '' } = this.issuer
    channelOf('introspection').publish({ registration, issuer, outcome, reason, duration })
    if (answer === null)
      throw unavailable('ERR_AUTH_ISSUER_UNAVAILABLE', this.pause, String(reason))
    return answer
  }

  protected override get pause(): number {
    return Math.max(pauseAfter(this.#failedProbes) - since(this.#pausedAt), 0)
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

  async #request(token: string): Promise<Answer> {
    const answer = await this.limit((signal) => this.#post(token, signal))
    this.#failuresInARow = this.#failedProbes = 0
    this.#succeededAt = performance.now()
    return answer
  }

  /** Asks about a random token. @param isSlow - whether requests are rejected until it is answered */
  async #probe(isSlow = false): Promise<void> {
    if (this.#isProbing) return
    this.#isProbing = true
    if (isSlow) this.#failedProbes ||= 1
    const start = performance.now()
    const token = randomBytes(32).toString('base64url')
    await this.#request(token).catch(({ status }: { status?: number }) => {
      if (oddToken.has(status) || this.#succeededAt >= start) return
      this.document = null
      this.#failedProbes += 1
      this.#pausedAt = Date.now()
    })
    this.#isProbing = false
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

  /** @param start - of the request @returns the reason */
  #fail(error: unknown, start: number): string {
    const [issuer, reason, now] = [this.issuer.name, reasonOf(error), performance.now()]
    const { status } = error as { status?: number }
    this.sent.failures += 1
    if (!oddToken.has(status)) this.#failuresInARow += 1
    // One or two failures may be chance.
    if (this.#failuresInARow >= 3 && now - this.#succeededAt >= doubtful && this.pause === 0) {
      void this.#probe(now - start >= doubtful)
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
