import * as Type from '@sinclair/typebox/type'
import type { FastifyRequest } from 'fastify'
import { ownProperty, withoutUndefined } from '../common/objects.js'
import { swap } from '../common/swap.js'
import { rejection } from '../errors/errors.js'
import { channelOf } from '../events.js'
import { badRequest, queryOf } from '../http/query.js'
import { featureRoutes, type HandleOf } from '../login/feature-routes.js'
import { requireAlive, requireOwnSession } from '../login/proof.js'
import { emailOf, emailSchema as email } from '../mail/email.js'
import { shownUser } from './api.js'
import type { Tools } from './identities.js'
import { areRoles, isUserId, isUserName, nameRule, rolesRule } from './rules.js'
import type { PluginRoute } from '../http/plugin-route.js'
import type { UserRow, UsersAdminOptions } from '../../types/users.js'

interface Body extends Partial<Pick<UserRow, 'name' | 'roles'>> {
  readonly email: string
}

type Handle = HandleOf<Tools, Body>
type Change = (tools: Tools, id: string, request: FastifyRequest, body: Body) => Promise<unknown>

/** The parameters of a list. Databases fail at some of the characters that are left out. */
const filters = {
  after: { type: 'string', pattern: String.raw`^[^\p{Cc}\p{Cs}]{1,1024}$` },
  limit: { type: 'integer', pattern: String.raw`^(?:[1-9]\d?|1\d\d|200)$` },
  email: { type: 'string', pattern: String.raw`^[^\p{Cc}\p{Cs}]{0,254}$` },
  disabled: { type: 'boolean', pattern: '^(?:true|false)$' },
  role: { type: 'string', pattern: String.raw`^[^\p{Cc}\p{Cs}]{1,100}$` },
}

const list: Handle = async ({ users, registration }, _body, request) => {
  requireOwnSession(registration, request)
  const query = queryOf(request)
  for (const [name, value] of query) {
    const { pattern } = (ownProperty(filters, name) ?? {}) as { pattern?: string }
    const isValid = pattern !== undefined && new RegExp(pattern, 'u').test(value)
    if (!isValid || query.getAll(name).length > 1)
      badRequest(`querystring must have ${Object.keys(filters).join()} alone, once, and valid`)
  }
  const { limit = '50', disabled, ...texts }: Record<string, string> = Object.fromEntries(query)
  const filter = { ...texts, ...(disabled && { disabled: disabled === 'true' }) }
  const page = await users.list({ ...filter, limit: Number(limit) })
  if (page === null) return badRequest('querystring/after must be the "next" of an earlier page')
  return { ...page, users: page.users.map((user) => shownUser(registration, user)) }
}

const show: Handle = async ({ users, registration }, _body, request) => {
  requireOwnSession(registration, request)
  const user = await users.find(idOf(request))
  if (user === null) throw rejection('auth.not-found')
  const { id, password, secondFactor } = user
  const passkeys = await users.ask((store) => store.passkeys(id))
  return {
    ...shownUser(registration, user),
    hasPassword: password !== null,
    hasSecondFactor: secondFactor !== null,
    identities: await users.ask((store) => store.identities(id)),
    passkeys: passkeys.map(({ id, name, created, lastUsed }) => ({ id, name, created, lastUsed })),
    sessions: await registration.app.authn.sessions.list(id),
  }
}

const create: Handle = async ({ users, registration }, body, request, reply) => {
  const { user: own } = requireOwnSession(registration, request)
  const admin = namedOf(body)
  // The token of an invitation holds them.
  if (Buffer.byteLength(JSON.stringify(admin)) > 8192) badRequest('body/roles must be shorter')
  const email = emailOf(body.email) ?? badRequest('body/email must be an address')
  await requireAlive(registration, request)
  const { authn } = registration.app
  if (authn.features.includes('accounts')) {
    const isSent = await authn.accounts.invite(email, request, {
      admin: { ...admin, by: (own as UserRow).id },
    } as object)
    if (!isSent) throw rejection('auth.account-exists')
    void reply.code(202)
    return {}
  }
  const columns = await users.columnsOf({ email, admin }, request)
  const user = await users.add({ email, password: null }, columns, null, request)
  if (user === null) throw rejection('auth.account-exists')
  void reply.code(201)
  return shownUser(registration, user)
}

/** @throws ERR_AUTH_NOT_FOUND for what is no id */
function idOf({ params }: FastifyRequest): string {
  const { id } = params as { readonly id: string }
  if (isUserId(id)) return id
  throw rejection('auth.not-found')
}

/** Checks what the schema of a body cannot. */
function namedOf({ name, roles }: Body) {
  if (!isUserName(name ?? null) || !areRoles(roles ?? []))
    badRequest(`body/name must be ${nameRule}; body/roles ${rolesRule}`)
  return withoutUndefined({ name, roles })
}

/** @param apply - false: there is no such user @param mayBeOwn - whether admins may do it to their own account */
function change(apply: Change, mayBeOwn: (body: Body) => boolean = () => false): Handle {
  return async (tools, body, request) => {
    const { user } = requireOwnSession(tools.registration, request)
    const id = idOf(request)
    if ((user as UserRow).id === id && !mayBeOwn(body)) throw rejection('auth.own-account')
    await requireAlive(tools.registration, request)
    if ((await apply(tools, id, request, body)) === false) throw rejection('auth.not-found')
    return null
  }
}

const always = (): boolean => true
const hasNoRoles = ({ roles }: Body): boolean => roles === undefined
const update: Change = ({ users }, id, request, body) => users.update(id, namedOf(body), request)
const disable: Change = ({ users }, id, request) => users.disable(id, request)
const enable: Change = ({ users }, id, request) => users.enable(id, request)
const remove: Change = ({ users }, id, request) => users.remove(id, request)
const logOut: Change = async ({ users }, id) => (await users.find(id)) !== null && users.logOut(id)

const disableFactor: Change = ({ users, registration: { name: registration } }, sub, request) => {
  const attempt = async (): Promise<boolean | null> => {
    const user = await users.find(sub)
    if (user === null || user.secondFactor === null) return user !== null
    const before = { secondFactor: user.secondFactor }
    if (!(await users.ask((store) => store.swap(sub, { secondFactor: null }, before)))) return null
    channelOf('secondFactor').publish({ action: 'disabled', sub, request, registration })
    return true
  }
  // Guesses of others must not stop it.
  return swap(attempt, 'UserStore.swap', 200)
}

const done = { 204: 'Done.', 404: 'There is no such user.' }
const notOwn = { ...done, 409: 'It is the account of the client.' }
const page = { 200: { type: 'object', description: 'A page of users, and where the next begins.' } }
const shown = { 200: { type: 'object', description: 'The user.' }, 404: done[404] }
const created = {
  201: { type: 'object', description: 'The user.' },
  202: { type: 'object', description: 'An invitation is sent, with the option accounts.' },
  409: 'The address has an account.',
}
const named = {
  name: Type.Optional(Type.Union([Type.String(), Type.Null()], { description: 'text or null' })),
  roles: Type.Optional(Type.Array(Type.String())),
}

/** The routes of the admin API. */
export function adminRoutes(
  tools: Tools,
  { auth: mark, path }: Required<UsersAdminOptions>,
): PluginRoute[] {
  const one = `${path}/:id`
  const [first, ...others] = featureRoutes<Tools, Body>(tools, {
    option: 'users.admin.path',
    ifTaken: 'Move the admin API by users: { admin: { path } }.',
    authenticator: 'users',
    kindOf: (_path, summary) => summary.toLowerCase(),
    counts: null,
    logins: [],
    mayLackBody: true,
    isStrict: true,
    mark,
    own: [
      [`GET ${path}`, 'List users', list, null, page],
      [`GET ${one}`, 'Show a user', show, null, shown],
      [`POST ${path}`, 'Create a user', create, { email, ...named }, created],
      [`POST ${one}`, 'Change a user', change(update, hasNoRoles), named, notOwn],
      [`POST ${one}/disable`, 'Disable a user', change(disable), {}, notOwn],
      [`POST ${one}/enable`, 'Enable a user', change(enable, always), {}, done],
      [`POST ${one}/log-out`, 'Log a user out', change(logOut, always), {}, done],
      [`POST ${one}/second-factor/disable`, 'Remove a factor', change(disableFactor), {}, notOwn],
      [`POST ${one}/remove`, 'Delete a user', change(remove), {}, notOwn],
    ],
  }) as [PluginRoute, ...PluginRoute[]]
  const query = { querystring: { type: 'object', properties: filters } }
  // The validator compiler of the app may not understand our JSON Schema, and Fastify's would convert values.
  const given = {
    schema: { ...first.options?.schema, ...query },
    validatorCompiler: () => () => true,
  }
  return [{ ...first, options: { ...first.options, ...given } }, ...others]
}
