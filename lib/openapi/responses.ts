import {
  busyWithPasswords,
  factsOf,
  membersOf,
  readsCookie,
  type BusyStatus,
} from '../authenticators/facts.js'
import type { OwnRoute, Responses } from '../login/schema.js'
import type { Needs, Plan } from '../marks/plan.js'
import type { Registration } from '../registration.js'
import type { NeededNames } from '../../types/marks.js'

const busy: Readonly<Record<BusyStatus, string>> = {
  429: 'Too many failed attempts.',
  503: 'The server is busy.',
}
const crossSite = 'A page of another site may have sent the request.'

/** What a protected route answers, besides what its schema says. */
export function responsesOf(
  { mode, authenticator, members, nobodyPasses, needs }: Plan,
  { cookies, options }: Registration,
  methods: readonly string[],
): Responses {
  const isCrossSite =
    cookies !== null &&
    methods.some((method) => !cookies.safeMethods.has(method)) &&
    members.flatMap(membersOf).some(readsCookie)
  const forbidden = [
    ...(needs === null ? [] : [`The user lacks what is needed: ${needsInWords(needs)}.`]),
    ...(isCrossSite ? [crossSite] : []),
  ]
  const statuses = membersOf(authenticator).flatMap((each) => factsOf(each).busy?.(options) ?? [])
  const missing = nobodyPasses ? '' : 'missing or '
  return {
    200: 'Default Response',
    ...(mode !== 'try' && { 401: `The credentials are ${missing}not accepted.` }),
    ...(forbidden.length > 0 && { 403: forbidden.join(' Or: ') }),
    ...whileBusy([...statuses, ...busyWithAccess(needs, options)]),
  }
}

/** What one of the plugin's own routes answers. */
export function ownResponses({ notes, registration }: OwnRoute): Responses {
  return {
    400: 'The body is malformed.',
    ...notes.responses,
    ...(registration.cookies !== null && { 403: crossSite }),
    ...whileBusy(busyWithPasswords(registration.options)),
  }
}

/** A function of `access` that takes longer than `userServiceTimeout` is a 503. */
function busyWithAccess(needs: Needs | null, options: Registration['options']): BusyStatus[] {
  const { access, userServiceTimeout } = options
  const isAsked = (needs?.scope && access?.scopesOf) || (needs?.role && access?.rolesOf)
  return isAsked && userServiceTimeout !== undefined ? [503] : []
}

function whileBusy(statuses: readonly BusyStatus[]): Responses {
  return Object.fromEntries(statuses.map((status) => [status, busy[status]]))
}

/** Such as "one of the scopes `a` or `b`, and the role `editor`"; empty where nothing is needed. */
export function needsInWords({ scope, role }: Needs): string {
  return [...inWords('scope', scope), ...inWords('role', role)].join(', and ')
}

function inWords(what: string, need: NeededNames | null): string[] {
  if (need === null) return []
  const isEach = 'all' in need
  const names = (isEach ? need.all : need.any).map((name) => `\`${name}\``)
  if (names.length === 1) return [`the ${what} ${names[0]}`]
  const rest = names.slice(0, -1).join(', ')
  return isEach
    ? [`the ${what}s ${rest} and ${names.at(-1)}`]
    : [`one of the ${what}s ${rest} or ${names.at(-1)}`]
}
