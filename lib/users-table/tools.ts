import { randomUUID } from 'node:crypto'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { withoutUndefined } from '../common/objects.js'
import { faultOf, rejection, rejectionOrFault } from '../errors/errors.js'
import { channelOf } from '../events.js'
import { hasTenants, isIssuerOf } from '../http/tenant.js'
import { emailOf } from '../mail/email.js'
import { registrationOf } from '../request/registration.js'
import { areRoles, isOwnColumn, isReachable, isStorable, isUserId, isUserName } from './rules.js'
import type { ResolvedUsers } from './options.js'
import type { UserTable } from './table.js'
import type { FeatureContext } from '../feature.js'
import type { Authn, AuthnFeature } from '../../types/authn.js'
import type { AuthnOptions } from '../../types/options.js'
import type {
  Identity,
  NewUserAccount,
  UserColumns,
  UserEvent,
  UserPage,
  UserRow,
  UserStore,
  WaysIn,
} from '../../types/users.js'

type AnyRequest = FastifyRequest | null
type Named = Partial<Pick<UserRow, 'name' | 'roles'>>

const toolsOf = new WeakMap<FastifyInstance, UserTools>()

/** The tools of the registration whose route a request has come to. */
export function toolsFor({ server }: FastifyRequest): UserTools {
  const registration = registrationOf(server)
  return toolsOf.get(registration?.app as FastifyInstance) as UserTools
}

/** How users may log in, by the options of a registration, which are not checked yet. */
export const waysOf = ({ login, passkeys, loginWith }: AuthnOptions): WaysIn => ({
  password: !login || login.passwords !== false,
  passkeys: passkeys !== undefined,
  issuers: Object.values({ ...loginWith }).map((each) => ({ ...each }).issuer),
})

/** Whether all users with an address can log in by an e-mail. */
export const hasMailLogin = ({ mailLogin }: AuthnOptions): boolean =>
  mailLogin === true || (mailLogin ? mailLogin.accept === undefined : false)

/**
 * The same for one user: an issuer with tenants stands for each of them. Null for a user with {@link isReachable} where e-mails
 * log in. @throws (rejects) what `ask` rejects with
 */
export async function waysFor(
  ways: WaysIn,
  byMail: boolean,
  { id, email }: Pick<UserRow, 'id' | 'email'>,
  ask: UserTable['ask'],
): Promise<WaysIn | null> {
  if (byMail && isReachable(email)) return null
  if (!ways.issuers.some(hasTenants)) return ways
  const all = (await ask((store) => store.identities(id))).map(({ issuer }) => issuer)
  const own = all.filter((issuer) => ways.issuers.some((each) => isIssuerOf(each, issuer)))
  return { ...ways, issuers: [...ways.issuers, ...own] }
}

export class UserTools {
  readonly #registration: string

  constructor(
    readonly resolved: ResolvedUsers,
    { app, registration, options }: FeatureContext<ResolvedUsers>,
  ) {
    this.#registration = registration
    resolved.table.log ??= app.log
    resolved.table.apps.add(app)
    app.addHook('onClose', async () => void resolved.table.apps.delete(app))
    resolved.ways = waysOf(options as AuthnOptions)
    resolved.byMail = hasMailLogin(options as AuthnOptions)
    toolsOf.set(app, this)
  }

  ask<T>(work: (store: UserStore) => Promise<T>): Promise<T> {
    return this.resolved.table.ask(work)
  }

  /** Finds disabled users too. */
  async find(id: string): Promise<UserRow | null> {
    return isUserId(id) ? this.ask((store) => store.find(id)) : null
  }

  async findByEmail(text: string): Promise<UserRow | null> {
    const email = emailOf(String(text))
    return email === null ? null : this.ask((store) => store.findByEmail(email))
  }

  /** @returns null for a cursor that the store has not made */
  async list(page: Parameters<UserStore['list']>[0]): Promise<UserPage<UserRow> | null> {
    // No user has them, and databases fail at them.
    if (![page.email, page.role].every(isStorable)) return { users: [], next: null }
    return this.ask((store) =>
      // Addresses are stored in lower case.
      store.list({ ...page, email: page.email?.toLowerCase() }).catch((error: unknown) => {
        if (error instanceof RangeError) return null
        throw error
      }),
    )
  }

  /** What `users.newUser` returns for a new user. @throws (rejects) AuthenticationError, ERR_AUTH_USERS */
  async columnsOf(account: NewUserAccount, request: FastifyRequest): Promise<Named & UserColumns> {
    const { given } = this.resolved
    try {
      const columns: Record<string, unknown> = { ...(await given.newUser?.(account, request)) }
      if (columns.roles !== undefined && account.admin === undefined)
        throw new TypeError(
          'users.newUser() returned "roles", which an admin gives. Leave them out, or set them by app.authn.users.update().',
        )
      // It is often a value of the client, or of the provider.
      const { name = null, roles = [] } = columns
      if (!isUserName(name) || !areRoles(roles) || !Object.values(columns).every(isStorable))
        throw rejection('auth.forbidden', {
          cause: 'users.newUser() returned text that cannot be stored',
        })
      return withoutUndefined({ ...account.admin, ...columns })
    } catch (error) {
      throw rejectionOrFault('ERR_AUTH_USERS', error)
    }
  }

  /** Stores a user. @returns null if the address or the identity is taken @throws (rejects) ERR_AUTH_USERS */
  async add(
    secrets: Pick<UserRow, 'email' | 'password'>,
    columns: Named & UserColumns,
    identity: Identity | null,
    request: AnyRequest,
  ): Promise<UserRow | null> {
    const { name = null, roles = [], ...own } = columns
    const user = { id: randomUUID(), ...secrets, name, roles: [...roles] }
    await this.#requireColumns(own)
    const stored = await this.ask((store) => store.create({ ...user, columns: own }, identity))
    if (stored !== null) this.tell('created', stored.id, request)
    return stored
  }

  async update(id: string, columns: Named & UserColumns, request: AnyRequest): Promise<boolean> {
    if (!isUserId(id)) return false
    const { name, roles, ...own } = columns
    await this.#requireColumns(own)
    const change = { ...withoutUndefined({ name, roles }), columns: own }
    const isStored = await this.ask((store) => store.update(id, change))
    if (isStored) this.tell('updated', id, request)
    return isStored
  }

  /** @throws (rejects) ERR_AUTH_USERS, which names a column that the app may not set */
  async #requireColumns(columns: UserColumns): Promise<void> {
    const names = Object.keys(columns)
    if (names.length === 0) return
    const known = await this.ask((store) => store.columns())
    const wrong = names.find(
      (each) => isOwnColumn(each) || known?.includes(each) === false || !isStorable(columns[each]),
    )
    if (wrong === undefined) return
    const text = `found the column ${JSON.stringify(wrong)} for a user, expected "name" or a column that the app has added to its table, with text that a database can store. Add the column by ALTER TABLE, or leave it out.`
    throw faultOf('ERR_AUTH_USERS', new TypeError(text))
  }

  /** The user of a login at a provider. @throws (rejects) ERR_AUTH_ACCOUNT_EXISTS, and others of {@link columnsOf} */
  async ofProvider(
    provider: string,
    claims: NonNullable<NewUserAccount['claims']>,
    request: FastifyRequest,
  ): Promise<string> {
    const { iss: issuer, sub: subject, email: text, email_verified: isVerified } = claims
    const enter = async (): Promise<string | null> => {
      const user = await this.ask((store) => store.findByIdentity(issuer, subject))
      if (user !== null && user.disabledAt !== null) throw rejection('auth.account-disabled')
      return user && user.id
    }
    const id = await enter()
    if (id !== null) return id
    const email = isVerified === true && typeof text === 'string' ? emailOf(text) : null
    if (email === null || (await this.findByEmail(email)) === null) {
      if (!this.resolved.signUp) {
        const about = { code: 'ERR_AUTH_LOGIN_REFUSED', cause: 'users.signUp is false' } as const
        throw rejection('auth.forbidden', about)
      }
      const columns = await this.columnsOf({ email, provider, claims }, request)
      const identity = { provider, issuer, subject }
      const made = await this.add({ email, password: null }, columns, identity, request)
      if (made !== null) return made.id
    }
    // Another first login of the same user may have come between.
    const later = await enter()
    if (later !== null) return later
    throw rejection('auth.account-exists')
  }

  async disable(id: string, request: AnyRequest): Promise<boolean> {
    const isChanged = await this.#setDisabled(id, true)
    if (isChanged) this.tell('disabled', id, request)
    if (isChanged !== null) await this.logOut(id)
    return isChanged !== null
  }

  async enable(id: string, request: AnyRequest): Promise<boolean> {
    // A session may have begun while the user was disabled, or have been in a store that was away then.
    const user = await this.find(id)
    if (user === null || user.disabledAt === null) return user !== null
    await this.logOut(id)
    const isChanged = await this.#setDisabled(id, false)
    if (isChanged) this.tell('enabled', id, request)
    return isChanged !== null
  }

  async #setDisabled(id: string, to: boolean): Promise<boolean | null> {
    return isUserId(id) ? this.ask((store) => store.setDisabled(id, to)) : null
  }

  /** Deletes a user, with sessions and API keys. */
  async remove(id: string, request: AnyRequest): Promise<boolean> {
    if ((await this.find(id)) === null) return false
    await this.logOut(id)
    const isRemoved = await this.ask((store) => store.remove(id))
    if (isRemoved) this.tell('removed', id, request)
    // A login may have been under way.
    await this.logOut(id)
    for (const { apiKeys } of this.#with('apiKeys'))
      for (const key of await apiKeys.list(id)) await apiKeys.revoke(key.id, { owner: id })
    return isRemoved
  }

  async logOut(id: string): Promise<void> {
    for (const { sessions } of this.#with('sessions')) await sessions.revoke({ sub: id })
  }

  /** The registrations with this table that have a feature. */
  #with(feature: AuthnFeature): Authn[] {
    const all = [...this.resolved.table.apps].map(({ authn }) => authn)
    return all.filter(({ features }) => features.includes(feature))
  }

  tell(action: UserEvent['action'], sub: string, request: AnyRequest): void {
    channelOf('user').publish({ action, sub, request, registration: this.#registration })
  }
}
