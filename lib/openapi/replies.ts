import { schemesOf } from '../guard/response.js'
import { membersOf } from '../authenticators/members.js'
import { busyStatuses, kBusy, type BusyStatus } from '../passwords/tools.js'
import type { ResolvedOptions } from '../options/resolve.js'
import type { Plan } from '../marks/plan.js'
import type { Registration } from '../registration.js'
import type { Authenticator } from '../../types/authenticator.js'
import type { MessageKey } from '../../types/messages.js'

/** A header of a response. */
export interface Header {
  readonly description: string
  readonly type: 'string' | 'integer'
}

/** How a document describes a refusal. */
export interface Reply {
  readonly status: 401 | BusyStatus
  readonly description: string
  readonly headers: Readonly<Record<string, Header>>
  /** An example of the text in `{"error": …}`; null when the app writes the body itself. */
  readonly text: string | null
}

const challenge: Reply['headers'] = {
  'WWW-Authenticate': {
    description: 'The schemes that are accepted (RFC 9110 §11.6.1).',
    type: 'string',
  },
}
const retryAfter: Reply['headers'] = {
  'Retry-After': {
    description: 'Seconds after which another attempt may succeed.',
    type: 'integer',
  },
}
const busy: Readonly<Record<BusyStatus, readonly [description: string, key: MessageKey]>> = {
  429: ['Too many failed attempts.', 'auth.too-many-attempts'],
  503: ['The server is busy.', 'auth.overloaded'],
}

/** The refusals that a marked route may send. */
export function repliesOf(
  { mode, authenticator, nobodyPasses }: Plan,
  registration: Registration,
): Reply[] {
  const members = membersOf(authenticator)
  const own = members.some(({ onUnauthorized }) => onUnauthorized !== undefined)
  const statuses = members.flatMap((member) => busyOf(member, registration.options))
  const replies: Reply[] = [...new Set(statuses)].map((status) => busyReply(status, registration))
  // The mark 'try' refuses no credentials, so there is no 401.
  if (mode !== 'try') {
    const challenged = schemesOf(authenticator).length > 0
    const missing = 'The credentials are missing or not accepted.'
    replies.unshift(
      nobodyPasses
        ? refusal('The credentials are not accepted.', false, challenged, registration)
        : refusal(missing, true, challenged, registration),
    )
  }
  return own ? replies.map((reply) => ({ ...reply, headers: {}, text: null })) : replies
}

/** The refusals of the login route. */
export function loginRepliesOf(registration: Registration): Reply[] {
  const wrong = 'The username or the password is wrong.'
  return [
    refusal(wrong, false, true, registration),
    ...busyStatuses(registration.options).map((status) => busyReply(status, registration)),
  ]
}

function busyOf(authenticator: Authenticator, options: ResolvedOptions): BusyStatus[] {
  const { [kBusy]: statuses } = authenticator as {
    [kBusy]?: (options: ResolvedOptions) => BusyStatus[]
  }
  return statuses?.(options) ?? []
}

function busyReply(status: BusyStatus, registration: Registration): Reply {
  const [description, key] = busy[status]
  return { status, description, headers: retryAfter, text: textOf(key, registration) }
}

function refusal(
  description: string,
  isMissing: boolean,
  isChallenged: boolean,
  registration: Registration,
): Reply {
  const key = isMissing ? 'auth.no-credentials-provided' : 'auth.invalid-credentials'
  return {
    status: 401,
    description,
    headers: isChallenged ? challenge : {},
    text: textOf(key, registration),
  }
}

/** A message in the default language. */
function textOf(key: MessageKey, { translator, options }: Registration): string {
  return translator.translate(key, options.defaultLanguage).text
}
