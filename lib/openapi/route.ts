import type { FastifyInstance } from 'fastify'
import { methodsOf } from '../app/routes.js'
import { kLogin, type EntryFacts } from '../login/schema.js'
import { ownMark, scopeMarkOf } from '../marks/inherit.js'
import { registrationOf, type Registration } from '../registration.js'
import { needsInWords } from './access.js'
import { marker, type DocumentWriter, type Facts, type Requirement } from './document.js'
import { kFacts, type Route } from './facts.js'
import { describeEntry } from './login.js'
import { repliesOf } from './replies.js'
import { schemesOf } from './schemes.js'
import type { Node } from './dialects.js'
import type { Plan } from '../marks/plan.js'

const form = 'application/x-www-form-urlencoded'

/** How a route is authenticated. */
export interface About {
  readonly registration: Registration
  /** Null when the route is open. */
  readonly plan: Plan | null
  readonly login: EntryFacts | undefined
  readonly server: FastifyInstance
  readonly methods: readonly string[]
}

/** @returns null for a route without a mark, of its own or of a scope around it */
export function aboutOf({ [kFacts]: facts, [kLogin]: login, config, method }: Route): About | null {
  const registration = facts && registrationOf(facts.server)
  if (facts === undefined || registration === undefined) return null
  const { server, decisionOf } = facts
  const plan = decisionOf(config)?.plan ?? null
  const isMarked = (ownMark(config) ?? scopeMarkOf(server)) !== undefined
  return plan === null && !isMarked
    ? null
    : { registration, plan, login, server, methods: methodsOf(method) }
}

/**
 * The schema of a route, completed by its security requirements, by what its users must have where the requirements
 * cannot say it, and by facts for {@link DocumentWriter}.
 */
export function describe(schema: Node, about: About, writer: DocumentWriter): Node {
  // Called also when the app names the schemes itself: it adds those of ours that the app may have named.
  const requirements = securityOf(about, writer)
  const isOurs = schema.security === undefined && requirements !== undefined
  const described = {
    ...schema,
    ...(isOurs && { security: requirements }),
    ...describeNeeds(schema, about, isOurs && writer.listScopes(requirements)),
  }
  const facts = factsOf(schema, about)
  return facts === null ? described : { ...described, [marker]: facts }
}

/** What a user must have, in words, after what the app says of the route. */
function describeNeeds({ description }: Node, { plan }: About, isScopeListed: boolean): Node {
  if (plan === null || plan.needs === null) return {}
  const words = needsInWords(isScopeListed ? { ...plan.needs, scope: null } : plan.needs)
  if (words === '') return {}
  const own = typeof description === 'string' && description !== '' ? `${description}\n\n` : ''
  return { description: `${own}Needs ${words}.` }
}

/** The security requirements of a route. An open route gets an empty list only if the document has requirements for all. */
function securityOf(
  { plan, registration }: About,
  writer: DocumentWriter,
): Requirement[] | undefined {
  if (plan === null) return writer.hasSecurity ? [] : undefined
  const schemes = schemesOf(plan.members, registration)
  const { standard, authenticators } = registration
  const all = [...(standard === undefined ? [] : [standard]), ...authenticators.values()]
  // All of the registration first, so that their names do not depend on the order of routes.
  if (schemes.length > 0) writer.requirements(schemesOf(all, registration), false)
  return writer.requirements(schemes, plan.nobodyPasses, plan.needs?.scope ?? null)
}

function factsOf(
  schema: Node,
  { plan, registration, login, server, methods }: About,
): Facts | null {
  if (login === undefined) {
    const replies = plan === null ? null : repliesOf(plan, registration, methods)
    return replies && { replies, login: null, hasOwnSuccess: true }
  }
  const types = ['application/json', form].filter((type) => server.hasContentTypeParser(type))
  const description = describeEntry(login, (schema.consumes as string[] | undefined) ?? types)
  const hasOwnSuccess = Object.keys(schema.response ?? {}).some((status) => status.startsWith('2'))
  return { replies: description.replies, login: description, hasOwnSuccess }
}
