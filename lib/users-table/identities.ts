import * as Type from '@sinclair/typebox/type'
import { rejection } from '../errors/errors.js'
import type { PluginRoute } from '../http/plugin-route.js'
import { featureRoutes, type HandleOf } from '../login/feature-routes.js'
import { besideLogin } from '../login/plugin-routes.js'
import { requireAlive, requireOwnSession, requireProof } from '../login/proof.js'
import type { Registration } from '../feature.js'
import { isStorable, waysLeft } from './rules.js'
import type { UserTools } from './tools.js'
import type { UserRow } from '../../types/users.js'

interface Body {
  readonly issuer: string
  readonly subject: string
}

export interface Tools {
  readonly users: UserTools
  readonly registration: Registration
  readonly resolved: { readonly routeOptions: object }
}

type Handle = HandleOf<Tools, Body>

const text = Type.String({ minLength: 1, maxLength: 2048 })

const list: Handle = ({ users, registration }, _body, request) => {
  const { user } = requireOwnSession(registration, request)
  return users.ask((store) => store.identities((user as UserRow).id))
}

const remove: Handle = async ({ users, registration }, { issuer, subject }, request) => {
  const { user } = await requireProof(registration, request)
  const { id } = user as UserRow
  await requireAlive(registration, request)
  const isText = isStorable(issuer) && isStorable(subject)
  const { ways, byMail } = users.resolved
  const left = waysLeft(ways, byMail, user as UserRow)
  const removed = isText && (await users.ask((store) => store.unlink(id, issuer, subject, left)))
  if (!removed || removed === 'unknown') throw rejection('auth.not-found')
  if (removed === 'last') throw rejection('auth.identity-last')
  return null
}

/** The routes by which users see and remove their accounts at providers. */
export function identityRoutes(tools: Tools, login: string): PluginRoute[] {
  const path = besideLogin(login, 'identities')
  const removed = {
    204: 'Done.',
    400: 'The body is not valid.',
    404: 'The user has no such account.',
    409: 'It is the only way to log in.',
  }
  const shown = { 200: { type: 'array', items: { type: 'object' }, description: 'The accounts.' } }
  return featureRoutes<Tools, Body>(tools, {
    option: 'users',
    authenticator: 'identities',
    kindOf: (_path, summary) => summary.toLowerCase(),
    counts: null,
    logins: [],
    own: [
      [`GET ${path}`, 'Accounts at providers', list, null, shown],
      [
        `POST ${path}/remove`,
        'Remove an account at a provider',
        remove,
        { issuer: text, subject: text },
        removed,
      ],
    ],
  })
}
