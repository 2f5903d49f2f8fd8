import type { FastifyInstance } from 'fastify'
import { AuthnUsageError } from '../errors/errors.js'
import { emailOf } from '../mail/email.js'
import { registrationOf } from '../request/registration.js'
import { viewOf } from '../users/view.js'
import { areRoles, isUserName, nameRule, rolesRule } from './rules.js'
import type { UserTools } from './tools.js'
import type { FoundUser, NewUserColumns, UserColumns, UserRow, Users } from '../../types/users.js'
import type { Registration } from '../feature.js'

/** The most users of a page. */
export const mostListed = 200

/** The user as in `request.user`, with `disabledAt`. */
export function shownUser({ hiddenFields }: Registration, user: UserRow): FoundUser {
  return { ...(viewOf(user, hiddenFields) as FoundUser), disabledAt: user.disabledAt }
}

/** `app.authn.users`. */
export function usersApi(tools: UserTools, app: FastifyInstance): Users {
  const shown = (user: UserRow | null): FoundUser | null =>
    user && shownUser(registrationOf(app) as Registration, user)
  return {
    find: async (id) => shown(await tools.find(id)),
    findByEmail: async (email) => shown(await tools.findByEmail(email)),
    async list({ limit = 50, ...filter } = {}) {
      if (!Number.isInteger(limit) || limit < 1 || limit > mostListed)
        misuse('list', `limit: expected a whole number from 1 to ${mostListed}`)
      const page = await tools.list({ ...filter, limit })
      if (page === null) return misuse('list', 'after: expected the "next" of an earlier page')
      return { ...page, users: page.users.map((each) => shown(each) as FoundUser) }
    },
    async create(columns, request) {
      const { email: text, password, ...others } = columns
      requireNamed(columns, 'create')
      const email = text === null ? null : emailOf(String(text))
      if (text !== null && email === null) misuse('create', 'email: expected an address, or null')
      const hash = password === undefined ? null : await app.authn.hashPassword(password)
      return shown(await tools.add({ email, password: hash }, others as UserColumns, null, request))
    },
    async update(id, columns, request) {
      requireNamed(columns, 'update')
      return tools.update(id, columns, request)
    },
    disable: (id, request) => tools.disable(id, request),
    enable: (id, request) => tools.enable(id, request),
    remove: (id, request) => tools.remove(id, request),
    identities: async (id) =>
      (await tools.find(id)) ? tools.ask((store) => store.identities(id)) : [],
  }
}

/** @param method - of `app.authn.users` @throws ERR_AUTH_CLAIMS */
function requireNamed({ name, roles }: Partial<NewUserColumns>, method: string): void {
  if (!isUserName(name ?? null)) misuse(method, `name: expected ${nameRule}`)
  if (!areRoles(roles ?? [])) misuse(method, `roles: expected ${rolesRule}`)
}

function misuse(method: string, problem: string): never {
  throw new AuthnUsageError('ERR_AUTH_CLAIMS', `users.${method}(): ${problem}.`)
}
