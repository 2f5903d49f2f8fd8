import { finished } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { viewOf } from '../users/view.js'
import type { MailLimits } from './limits.js'
import type { Quota } from '../throttle/quotas.js'
import type { AccountMail, AccountMailKind, AccountMailKinds } from '../../types/mail.js'

const failed = 'An e-mail of an account could not be sent'

interface Mailer {
  sendMail(mail: AccountMail): unknown
}

/** Waits between the response and the work, so that a client does not measure the work by its next request. */
const pauseAfterResponse = (): Promise<void> => sleep(20)

/** Milliseconds that closing an app waits for e-mails. After ten seconds, Fastify would skip the hooks that follow. */
const patience = 8_000

/** What is being sent, by all features with a mailer: who waits for e-mails waits for all. */
const pendingOf = new WeakMap<Mailer, Set<Promise<void>>>()

/** Sends the e-mails of a feature after the response, so that its time does not tell what was found. */
export class Mails {
  readonly counts = { mails: 0, mailsFailed: 0 }
  /** Replaced by the test kit. */
  sendMail: Mailer['sendMail']
  /** The kinds of e-mails that have failed, by their errors. */
  readonly #kinds = new WeakMap<object, AccountMailKind>()
  readonly #pending: Set<Promise<void>>
  #deadline: number | undefined

  /**
   * @param authenticator - the name of the feature in the log
   * @param mailer - the option `accounts`: called as a method, since it may be an instance of a class
   */
  constructor(
    private readonly authenticator: string,
    mailer: Mailer,
    private readonly hiddenFields: ReadonlySet<string>,
    readonly limits: MailLimits,
    private readonly pause = pauseAfterResponse,
  ) {
    this.sendMail = (mail) => mailer.sendMail(mail)
    this.#pending = pendingOf.get(mailer) ?? new Set()
    pendingOf.set(mailer, this.#pending)
  }

  /** Counts an e-mail to a mailbox that may be a stranger's. Where there are too many, the log says so. */
  async hasRoom(
    { log }: FastifyRequest,
    kind: AccountMailKind,
    ...quotas: Quota[]
  ): Promise<boolean> {
    const hasRoom = (await this.limits.count(...quotas)) === 0
    const { authenticator } = this
    if (!hasRoom)
      log.info({ authenticator, kind }, 'An e-mail was not sent: its mailbox got too many')
    return hasRoom
  }

  /** Sends none to a user without an address. */
  async send<Kind extends AccountMailKind>(
    request: FastifyRequest,
    kind: Kind,
    to: string | null,
    user: object | null,
    content: AccountMailKinds[Kind],
  ): Promise<void> {
    if (!to) return
    const shown = user === null ? null : viewOf(user, this.hiddenFields)
    const mail = { kind, to, ...content, lang: request.lang, user: shown }
    try {
      await this.sendMail(mail as AccountMail)
      this.counts.mails += 1
    } catch (error) {
      this.counts.mailsFailed += 1
      this.#kinds.set(Object(error) as object, kind)
      throw error
    }
  }

  /** Does work when the response has been sent. What it throws is logged. */
  later(reply: FastifyReply, work: () => unknown): void {
    const sent = new Promise<void>((resolve) => finished(reply.raw, () => resolve()))
    const begun = sent.then(() => this.pause()).then(work)
    const all = begun.then(
      () => undefined,
      (error: unknown) => {
        const kind = this.#kinds.get(Object(error) as object)
        reply.log.error({ authenticator: this.authenticator, kind, err: readable(error) }, failed)
      },
    )
    this.#pending.add(all)
    void all.finally(() => this.#pending.delete(all))
  }

  async settled(): Promise<void> {
    while (this.#pending.size > 0) await Promise.all(this.#pending)
  }

  async close(): Promise<void> {
    this.#deadline ??= Date.now() + patience
    const left = Math.max(0, this.#deadline - Date.now())
    await Promise.race([this.settled(), sleep(left, undefined, { ref: false })])
  }
}

/** Matches only from the beginning of a word: tried from each character, a long word, such as an inlined image, takes minutes. */
const address = /(?<![^\s<>"'(])[^\s<>"'(]+(?:@|%40)[^\s<>"',;)]+/g
const token = /(?<![\w-])[\w-]{10,}(?:\.[\w-]+){2}/g

const sixDigits = /(?<!\d)\d(?:[\s-]?\d){5}(?!\d)/g

/** Errors of HTTP clients contain the link; messages may quote addresses, tokens and codes. An error may be its own cause. */
function readable(error: unknown, depth = 5): object {
  const { message, code, cause } = Object(error) as Record<'message' | 'code' | 'cause', unknown>
  const found = [message, error].find((each) => typeof each === 'string') ?? typeof error
  return {
    message: String(found).replace(address, '…').replace(token, '…').replace(sixDigits, '…'),
    ...(typeof code === 'string' && { code }),
    ...(cause instanceof Error && depth > 0 && { cause: readable(cause, depth - 1) }),
  }
}
