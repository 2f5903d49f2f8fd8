import type { FastifyReply, FastifyRequest } from 'fastify'
import { withoutUndefined } from '../common/objects.js'
import { rejection } from '../errors/errors.js'
import { finishLogin } from '../login/finish.js'
import { asUnknown, findForLogin, refused } from '../users/user.js'
import type { HandleOf } from '../login/feature-routes.js'
import { requireAlive } from '../login/proof.js'
import { accountDigest, askAccounts } from '../login/stored-accounts.js'
import { linkInvalid, type OpenedLink, type LinkPurpose } from './links.js'
import { notStored, type AccountTools, type OwnAccount } from './tools.js'

interface Body {
  readonly email: string
  /** At a change of password, it may be missing. */
  readonly token: string
  readonly password: string
  readonly currentPassword?: string
}

type Handle = HandleOf<AccountTools, Body>

/** An e-mail follows, if there is one. */
function accepted(reply: FastifyReply) {
  void reply.code(202)
  return {}
}

const recipientOf = (
  { mails: { limits } }: AccountTools,
  { email: text }: Body,
  request: FastifyRequest,
  kind: 'sign-up' | 'reset',
) => limits.requested(request, text, (email) => limits.asked(kind, request, email))

/** Makes the handler of a link, which ten requests can try and one can use. */
function withLink(
  page: LinkPurpose,
  use: (claims: OpenedLink, ...given: Parameters<Handle>) => Promise<object | null>,
): Handle {
  return async (...given) => {
    const [tools, { token }, request] = given
    const { limits } = tools.mails
    if (page === 'email' || page === 'set') tools.own(request)
    const claims = tools.links.read(page, token)
    const tries = limits.link(claims)
    if ((await limits.count(tries)) > 0) throw linkInvalid('it was used, or tried too often')
    const body = await use(claims, ...given)
    // Without this, the link would work again after a change that was undone, such as of an address to another one and back.
    await limits.useUp(tries)
    return body
  }
}

const taken = 'the address is taken'

async function requireFree(tools: AccountTools, email: string, request: FastifyRequest) {
  if ((await tools.find(email, request)) !== null) throw linkInvalid(taken)
}

export const signUp: Handle = async (tools, body, request, reply) => {
  const { mails } = tools
  const email = await recipientOf(tools, body, request, 'sign-up')
  mails.later(reply, async () => {
    const account = await tools.find(email, request, findForLogin).catch(asUnknown(request))
    if (account !== null && refused.has(account.user)) return undefined
    if (account !== null) return tools.sendReset('account-exists', account, request)
    if (!(await mails.hasRoom(request, 'sign-up', mails.limits.mailbox(email)))) return undefined
    return mails.send(request, 'sign-up', email, null, tools.links.make('sign-up', { email }))
  })
  return accepted(reply)
}

export const finishSignUp = withLink('sign-up', async (claims, ...given) => {
  const [tools, body, request, reply, started] = given
  const { email = '', invitation, admin } = claims
  await requireFree(tools, email, request)
  const passwordHash = tools.isPasswordless ? null : await tools.hash(body.password, email, request)
  const account = { email, passwordHash, ...withoutUndefined({ invitation, admin }) }
  const created = await tools.create(account, request, (sub) =>
    tools.mails.limits.forget(email, sub, request),
  )
  if (created === false) throw linkInvalid(taken)
  tools.created += 1
  if (created === null) return null
  const login = { username: email, user: created.user, started }
  return finishLogin(tools.registration, request, reply, { ...login, authentication: {} })
})

export const forgotPassword: Handle = async (tools, body, request, reply) => {
  const email = await recipientOf(tools, body, request, 'reset')
  tools.mails.later(reply, async () => {
    const account = await tools.find(email, request).catch(asUnknown(request))
    if (account !== null) return tools.sendReset('reset', account, request)
    // A link that is not sent, so that an unknown address takes as much work as a known one.
    return tools.links.make('reset', { sub: email, state: email })
  })
  return accepted(reply)
}

/** Begins no session: the app may ask for a second factor at a login. */
export const resetPassword = withLink('reset', async (claims, tools, body, request, reply) => {
  const { password } = body
  const account = await tools.ofLink(claims, request)
  const sub = await tools.subOf(account, request)
  const hash = await tools.hash(password, account.values.email, request)
  if (!(await tools.setPassword(account, sub, hash, request, null))) throw linkInvalid(notStored)
  // A user who has forgotten the password has often been throttled.
  await tools.registration.attempts.openAttempt(account.name, password, request).succeeded()
  tools.tell('password-reset', 'password-changed', account, sub, reply)
  return null
})

/** @param failed - the rejection where the account has changed meanwhile */
async function storePassword(
  { account, sub, own }: OwnAccount,
  failed: Error,
  ...[tools, { password }, request, reply, started]: Parameters<Handle>
): Promise<object | null> {
  const hash = await tools.hash(password, account.values.email, request)
  if (!(await tools.setPassword(account, sub, hash, request, own))) throw failed
  tools.tell('password-changed', 'password-changed', account, sub, reply)
  // By `sub`, since the address may belong to another account by now.
  const { user = null } = (await tools.find(sub, request)) ?? {}
  const refused = { code: 'ERR_AUTH_LOGIN_REFUSED', cause: 'user not found' } as const
  if (user === null) throw rejection('auth.forbidden', refused)
  const authentication = { time: own.time, amr: own.amr, isRenewed: true }
  const login = { username: sub, user, started, authentication }
  return finishLogin(tools.registration, request, reply, { ...login, replaces: own.sid })
}

const setPassword = withLink('set', async (claims, ...given) => {
  const [tools, , request] = given
  const own = await tools.ofOwnLink(claims, request)
  return storePassword(own, linkInvalid(notStored), ...given)
})

export const changePassword: Handle = async (...given) => {
  const [tools, { token, currentPassword }, request] = given
  if (token !== undefined) return setPassword(...given)
  // The first password needs a link: the address of a provider may not be verified, so that two people could share the account.
  const wrong = (cause: string): Error => rejection('auth.current-password', { cause })
  if (!tools.own(request).hasPassword) throw wrong('no password')
  const own = await tools.prove(request, currentPassword)
  return storePassword(own, wrong(notStored), ...given)
}

/** Its link works in a session of the user alone: an address that is not verified may be that of a stranger. */
export const requestPassword: Handle = async (tools, _body, request, reply) => {
  const { values, hasPassword } = tools.own(request)
  if (hasPassword || !values.email) {
    throw rejection('auth.forbidden', { cause: 'a password, or no address' })
  }
  const { account, sub } = await tools.prove(request, undefined)
  // By user, and not by mailbox: anyone who knows the address could use up its e-mails.
  const { limits } = tools.mails
  await limits.request(request, limits.ofUser('set', sub))
  tools.mails.later(reply, () => {
    const link = tools.links.make('set', { sub, state: accountDigest(values) })
    return tools.mails.send(request, 'set-password', values.email, account.user, link)
  })
  return accepted(reply)
}

export const changeEmail: Handle = async (tools, body, request, reply) => {
  const { account, sub } = await tools.prove(request, body.currentPassword)
  const { user, values } = account
  const { mails, links } = tools
  const { limits } = mails
  const email = await limits.requested(request, body.email, () => limits.ofUser('change', sub))
  mails.later(reply, async () => {
    const isTaken = await tools.isTaken(email, request)
    const link = links.make('email', { sub, state: accountDigest(values), email })
    const wayOut = await tools.resetLink(account, request)
    // The owner of a taken address gets none: any user could request it again and again.
    const confirms =
      !isTaken && (await mails.hasRoom(request, 'email-confirm', limits.newMailbox(email)))
    await Promise.all([
      confirms && mails.send(request, 'email-confirm', email, user, link),
      // Sent in both cases: otherwise it would tell the user which addresses have accounts.
      mails.send(request, 'email-change', values.email, user, wayOut ?? {}),
    ])
  })
  return accepted(reply)
}

/** Requires a session of the user: a stranger who opens the link must not confirm the change of an attacker. */
export const confirmEmail = withLink('email', async (claims, tools, _body, request, reply) => {
  const { email = '' } = claims
  const { account, sub } = await tools.ofOwnLink(claims, request)
  await requireFree(tools, email, request)
  await requireAlive(tools.registration, request)
  const after = { ...account.values, email }
  const isStored = await tools.update(account, after).catch(async (error: unknown) => {
    // The unique index may have rejected it.
    await requireFree(tools, email, request)
    throw error
  })
  if (!isStored) throw linkInvalid(notStored)
  tools.tell('email-changed', 'email-changed', account, sub, reply)
  return null
})

export const deleteAccount: Handle = async (tools, { currentPassword }, request, reply) => {
  const { account, sub } = await tools.prove(request, currentPassword)
  await requireAlive(tools.registration, request)
  await askAccounts(() => tools.resolved.given.remove?.(account.user as never, request))
  await tools.sessions.revoke({ sub })
  tools.registration.carrier.clear(request, reply)
  tools.tell('deleted', 'account-deleted', account, sub, reply)
  return null
}
