import { randomBytes } from 'node:crypto'
import type { FastifyInstance, FastifyRequest, LightMyRequestResponse as Response } from 'fastify'
import { sessionOf } from './log-in-with.js'
import { mailAttacks } from './mail-attacks.js'
import { statusProblemOf, type AttackReport } from './report.js'
import { RouteAttacks, Stopped } from './route-attacks.js'
import { watchRequest } from './watched.js'
import type { AccountTools } from '../accounts/tools.js'
import type { Accounts } from '../../types/accounts.js'
import type { AccountMail } from '../../types/mail.js'

/** The options of `accountAttacks`: what an app needs besides addresses, passwords and links. */
export interface AccountAttackOptions {
  /** More members of the bodies of the account routes, and the `data` of invitations. Default: none. */
  readonly create?: Readonly<Record<string, unknown>> | undefined
  /** More members of the body of the login. Default: none. */
  readonly loginFields?: Readonly<Record<string, unknown>> | undefined
}

type Account = { email: string; password: string; headers?: Record<string, string> }
type Body = Account & { token?: string | undefined }
type Sent = [name: string, status: number, why: string, path: string, body: object, as?: Account]

const find = 'findByUsername has to find what is stored by now, by that name and no other'
/** The most e-mails to an address, which the default limit allows. */
const mostMails = 3
const subject = 'findByUsername has to find login.subject, which no two users may share'
const changes =
  'create must not overwrite; update has to compare with "before", null too, and to store both values'

/**
 * Plays the routes of the option `accounts`, and so the app's own functions: two sign-ups, resets and changes of address
 * at once, used links and those of others, old passwords and sessions, other spellings, and equal responses; with the option
 * `mailLogin`, guesses at codes, replays, and codes of others. It catches
 * all e-mails of the registration meanwhile. Its accounts, `authn-attack-…@example.com`, are deleted at the end if
 * `accounts.remove` is set.
 * @param app - the app, with `authnTesting`; or the inner scope in which the plugin is registered. `ready()` is called
 * @returns the report; `report.problems` is empty when all is well
 * @throws (rejects) ERR_AUTH_TESTING
 * @example
 * const report = await accountAttacks(app)
 * assert.deepEqual(report.problems, [])
 */
export async function accountAttacks(
  app: FastifyInstance,
  { create, loginFields }: AccountAttackOptions = {},
): Promise<AttackReport> {
  await app.ready()
  const attacks = new RouteAttacks<AccountTools>(app, 'accountAttacks', 'accounts')
  const { tools, registration, login, loginUrl, beside, report } = attacks
  const check = attacks.check.bind(attacks)
  const accounts = new Set<Account>()
  const id = randomBytes(6).toString('hex')
  const addressOf = (letter: string): string => `authn-attack-${id}-${letter}@example.com`
  let caught: AccountMail[] = []
  const urlOfPath = (path: string): string => (path === '' ? loginUrl : beside(path))
  const url = urlOfPath('email/confirm')
  const seen = await watchRequest((simulate) => app.inject({ url, method: 'POST', simulate }))
  const request = seen?.request as FastifyRequest
  const { sendMail } = tools.mails
  tools.mails.sendMail = (mail) => caught.push(mail)
  const has = (path: string): boolean => app.hasRoute({ method: 'POST', url: urlOfPath(path) })
  try {
    return await attacks.run(login.passwords === false ? playMails : play)
  } finally {
    await clean().finally(() => (tools.mails.sendMail = sendMail))
  }

  /** Plays the cases with at most {@link mostMails} e-mails to an address. */
  async function play(): Promise<void> {
    const [a = '', b = '', c = '', d = ''] = ['a', 'b', 'c', 'd'].map(addressOf)
    const first = await signUp(a)
    await attacks.all('the link of a sign-up', String(first.token), beside('sign-up/finish'))
    const other = await win('sign-up', 'sign-up/finish', [first])
    const links = [await signUp(b, ` ${b.toUpperCase()} `), await signUp(b)]
    let account = await win('two sign-ups at once', 'sign-up/finish', links)
    const { token } = await ask('password/forgot', b, [`reset ${b}`])
    const resets = [1, 2].map(() => ({ token, email: b, password: newPassword() }))
    account = await win('two resets at once', 'password/reset', resets, account)
    const change = { email: b, password: newPassword(), token: undefined }
    account = await win('change of password', 'password/change', [change], account)
    const moves = []
    for (const to of [c, d]) {
      const mails = [`email-confirm ${to}`, `email-change ${b}`]
      const { token } = await ask('email/change', to, mails, account)
      await send('link of another user', 400, subject, 'email/confirm', { token }, other)
      moves.push({ email: to, password: account.password, token })
    }
    await setFirst(await win('two changes of address at once', 'email/confirm', moves, account))
    await compare('password/forgot', a, '', `reset ${a}`)
    if (has('sign-up')) await compare('sign-up', a, 'sign-up ', `account-exists ${a}`)
    await mailAttacks(attacks, a, { ...create })
  }

  /** Without passwords, accounts are made by e-mails to log in. */
  async function playMails(): Promise<void> {
    const email = addressOf('a')
    const response = await mailAttacks(attacks, email, { ...create })
    if (response) accounts.add({ email, password: '', headers: sessionOf(response) })
  }

  async function clean(): Promise<void> {
    const deleted = new Set<string>()
    for (const each of accounts) {
      const isByMail = each.password === ''
      const headers = isByMail ? each.headers : sessionOf(await post('', each))
      const as = { ...each, ...(headers && { headers }) }
      const { statusCode } = await post('account/delete', {}, as)
      if (statusCode !== 204) continue
      deleted.add(each.email)
      if (isByMail) continue
      check('login after deletion', await post('', each), [401], 'remove has to delete')
    }
    const stay = new Set(
      [...accounts].map((each) => each.email).filter((each) => !deleted.has(each)),
    )
    for (const each of stay) report.leftOut.push(`deletion of ${each}, which stays`)
  }

  async function post(path: string, body: object, as?: Account): Promise<Response> {
    const { email, password } = body as Account
    const fields = { [login.usernameField]: email, [login.passwordField]: password }
    const payload =
      path === ''
        ? { ...loginFields, ...fields }
        : { ...create, currentPassword: as?.password, ...body }
    const response = await attacks.post(urlOfPath(path), payload, as?.headers)
    await tools.mails.settled()
    return response
  }

  /** @throws (rejects) Stopped where what has to be accepted is not */
  async function send(...[name, status, why, path, body, as]: Sent): Promise<Response> {
    const response = await post(path, body, as)
    if (!check(name, response, [status], why) && status < 400) throw new Stopped()
    return response
  }

  /** Sends bodies at once, one of which has to win. Then the account is what it says, and nothing from before works. */
  async function win(name: string, path: string, bodies: Body[], old?: Account): Promise<Account> {
    const responses = await Promise.all(bodies.map((body) => post(path, body, old)))
    const won = Math.max(
      0,
      responses.findIndex(({ statusCode }) => statusCode < 300),
    )
    // The first one may have revoked the session of the other.
    const rights = responses.map((each, at) =>
      check(name, each, at === won ? [200, 204] : [400, 401], changes),
    )
    for (const each of bodies) accounts.add(each)
    if (rights.includes(false)) throw new Stopped()
    const { email, password } = bodies[won] as Body
    const response = await send(`${name}: login`, 200, find, '', { email, password })
    const account = { email, password, headers: sessionOf(response) }
    for (const each of [...bodies, old ?? account]) accounts.delete(each)
    accounts.add(account)
    for (const each of [...bodies, old ?? account]) {
      if (each.email === email && each.password === password) continue
      await send(`${name}: old login`, 401, find, '', each)
    }
    const [none, confirm] = [{ token: id }, 'email/confirm']
    for (const each of accounts) await send(`${name}: session`, 400, subject, confirm, none, each)
    if (old?.email === email) await send(`${name}: old session`, 401, subject, confirm, none, old)
    for (const each of bodies) {
      const body = { ...each, currentPassword: '-' }
      await send(`${name}: again`, each.token ? 400 : 403, changes, path, body, account)
    }
    return account
  }

  /** Asks for e-mails. @returns the token in the first that is expected, and what the response tells */
  async function ask(path: string, email: string, mails: string[], as?: Account) {
    caught = []
    const { headers, body } = await send(path, 202, 'a hook rejects it', path, { email }, as)
    const found = caught.map(({ kind, to }) => `${kind} ${to}`)
    const token = caught[found.indexOf(String(mails[0]))]?.token
    if (found.toSorted().join() === mails.toSorted().join())
      return { token, told: { ...headers, body } }
    // A mailbox that got too many gets none, and the response does not tell.
    const isLimited = tools.resolved.limits.perRecipient < mostMails
    const why = isLimited
      ? String(statusProblemOf(429, []))
      : `sent [${found.join()}] in place of [${mails.join()}]: ${find}`
    report.problems.push({ case: `${path}: e-mails`, status: null, why })
    throw new Stopped()
  }

  async function signUp(email: string, spelled = email): Promise<Body> {
    const password = newPassword()
    if (has('sign-up'))
      return { email, password, ...(await ask('sign-up', spelled, [`sign-up ${email}`])) }
    const accounts = registration.features.find(({ name }) => name === 'accounts')?.api as Accounts
    await accounts.invite(spelled, request, { data: create })
    return { email, password, token: caught.at(-1)?.token }
  }

  /** Takes address and password away, as users of a provider have none, and sets the first ones. */
  async function setFirst(account: Account): Promise<void> {
    const { email } = account
    const stored = await tools.find(email, request)
    const take = (kept: string | null): Promise<boolean> =>
      tools.update(stored as never, { email: kept, passwordHash: null }).catch(() => false)
    const leave = (what: string) => void report.leftOut.push(`first ${what}: it cannot be null`)
    if (await take(null)) {
      const { token } = await ask('email/change', email, [`email-confirm ${email}`], account)
      await send('first address', 204, changes, 'email/confirm', { token }, account)
    } else {
      leave('address')
      if (!(await take(email))) return leave('password')
    }
    const { token } = await ask('password/set', email, [`set-password ${email}`], account)
    const bodies = [1, 2].map(() => ({ token, email, password: newPassword() }))
    await win('two first passwords at once', 'password/change', bodies, account)
  }

  /** The account is in the middle, so that clocks and counters in headers do not matter. */
  async function compare(path: string, known: string, kind: string, mail: string): Promise<void> {
    const told: Record<string, unknown>[] = []
    for (const email of [known.replace('a@', '_@'), known, addressOf('e')]) {
      const mails = email === known ? [mail] : [kind && `${kind}${email}`].filter(Boolean)
      told.push((await ask(path, email, mails)).told)
    }
    const [before = {}, of = {}, after = {}] = told
    const names = Object.keys({ ...before, ...of }).filter((each) => before[each] === after[each])
    const why = `a hook tells who has an account: ${names.filter((each) => of[each] !== before[each]).join()}`
    if (!why.endsWith(' ')) report.problems.push({ case: `${path}: responses`, status: 202, why })
  }
}

/** A password as long as an app can require, of all kinds of characters, and in no breach. */
const newPassword = (): string => `aA1-${randomBytes(45).toString('base64url')}`
