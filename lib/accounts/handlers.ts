import type { FastifyReply, FastifyRequest } from 'fastify'
import { faultOf, refusal } from '../errors/errors.js'
import { channels } from '../events.js'
import { badRequest } from '../http/query.js'
import { sendBody } from '../login/finish.js'
import { emailOf } from './email.js'
import { linkInvalid, stateOf } from './links.js'
import { ask, changed, type AccountTools } from './tools.js'

/** What a body has, as far as its route requires it. */
export interface Body {
  readonly email: string
  readonly token: string
  readonly password: string
  readonly currentPassword?: string
}

export type Handle = (
  tools: AccountTools,
  body: Body,
  request: FastifyRequest,
  reply: FastifyReply,
) => Promise<FastifyReply>

/** @throws (rejects) Error with the status 400, ERR_AUTH_TOO_MANY_MAILS */
async function recipientOf(
  { mails }: AccountTools,
  body: Body,
  { ip }: FastifyRequest,
  isChange = false,
) {
  const email = emailOf(body.email) ?? badRequest('body/email must be an e-mail address')
  await mails.limit(email, ip, isChange)
  return email
}

const taken = 'the address is taken'

async function requireFree(tools: AccountTools, email: string, request: FastifyRequest) {
  if ((await tools.find(email, request)) !== null) throw linkInvalid(taken)
}

export const signUp: Handle = async (tools, body, request, reply) => {
  const { mails } = tools
  const email = await recipientOf(tools, body, request)
  mails.later(reply, async () => {
    const account = await tools.find(email, request)
    if (account !== null) return tools.sendReset('account-exists', account, request)
    return mails.send(request, 'sign-up', email, null, tools.links.make('sign-up', { email }))
  })
  return reply.code(202).send({})
}

/** Creates the account of a link to sign up, and logs its user in. */
export const finishSignUp: Handle = async (tools, { token, password }, request, reply) => {
  const { email = '', invitation } = tools.links.read('sign-up', token)
  await requireFree(tools, email, request)
  const passwordHash = await tools.hash(password, email, request)
  const account = { email, passwordHash, ...(invitation !== undefined && { invitation }) }
  const isCreated = await ask(() => tools.resolved.given.create(account, request))
  if (!isCreated) throw linkInvalid(taken)
  const created = await tools.find(email, request)
  // `create` may have resolved to the result of a query, which is truthy even if the address is taken. Without this check,
  // the client would be logged in to the account that has the address.
  if (created === null || created.values.passwordHash !== passwordHash) {
    const text =
      'accounts.create() has resolved to something truthy, but findByUsername does not find what it should have stored. It has to resolve to a falsy value if the address is taken.'
    throw faultOf('ERR_AUTH_ACCOUNTS', new TypeError(text))
  }
  tools.created += 1
  const sub = String(await tools.subOf(created, request))
  channels.account.publish({ action: 'created', sub, request })
  return sendBody(reply, await tools.sessions.begin(email, request, reply))
}

export const forgotPassword: Handle = async (tools, body, request, reply) => {
  const email = await recipientOf(tools, body, request)
  tools.mails.later(reply, async () => {
    const account = await tools.find(email, request)
    if (account !== null) return tools.sendReset('reset', account, request)
    // A link that is not sent, so that an unknown address takes as much work as a known one.
    return tools.links.make('reset', { sub: email, state: email })
  })
  return reply.code(202).send({})
}

/** Nobody is logged in afterwards: the app may ask for a second factor at a login. */
export const resetPassword: Handle = async (tools, { token, password }, request, reply) => {
  const account = await tools.ofLink(tools.links.read('reset', token), request)
  const { email } = account.values
  const sub = await tools.subOf(account, request)
  const hash = await tools.hash(password, email, request)
  if (!(await tools.setPassword(account, sub, hash, request))) throw linkInvalid(changed)
  // A user who has forgotten the password has often been throttled.
  await tools.registration.passwords.openAttempt(email, password, request).succeeded()
  tools.tell('password-reset', 'password-changed', account, sub, reply)
  return reply.code(204).send()
}

export const changePassword: Handle = async (tools, body, request, reply) => {
  const { email, passwordHash } = tools.own(request).values
  // An address from a provider may not be verified, so that two people could share the account.
  if (passwordHash === null) throw refusal('auth.current-password', { cause: 'no password' })
  const { account, sub } = await tools.prove(request, body.currentPassword)
  const hash = await tools.hash(body.password, email, request)
  if (!(await tools.setPassword(account, sub, hash, request))) {
    throw refusal('auth.current-password', { cause: changed })
  }
  tools.tell('password-changed', 'password-changed', account, sub, reply)
  // Not by the address, which may be that of another account by now.
  return sendBody(reply, await tools.sessions.begin(sub, request, reply))
}

export const changeEmail: Handle = async (tools, body, request, reply) => {
  const { account, sub } = await tools.prove(request, body.currentPassword)
  const { user, values } = account
  const { mails, links } = tools
  const email = await recipientOf(tools, body, request, true)
  mails.later(reply, async () => {
    // The owner of a taken address gets no e-mail: any user could request it again and again.
    if ((await tools.find(email, request)) !== null) return
    const link = links.make('email', { sub, state: stateOf(values), email })
    const wayOut = await tools.resetLink(account, request)
    await Promise.all([
      mails.send(request, 'email-confirm', email, user, link),
      mails.send(request, 'email-change', values.email, user, wayOut),
    ])
  })
  return reply.code(202).send({})
}

/** In a session of the user, since a stranger who opens the link must not confirm the change of an attacker. */
export const confirmEmail: Handle = async (tools, { token }, request, reply) => {
  const own = await tools.subOf(tools.own(request), request)
  const { email = '', sub, state } = tools.links.read('email', token)
  if (sub !== own) throw linkInvalid('it is of another user')
  const account = await tools.ofLink({ sub, state }, request)
  await requireFree(tools, email, request)
  const after = { ...account.values, email }
  const isStored = await tools.update(account, after).catch(async (error: unknown) => {
    // The unique index may have rejected it.
    await requireFree(tools, email, request)
    throw error
  })
  if (!isStored) throw linkInvalid(changed)
  tools.tell('email-changed', 'email-changed', account, own, reply)
  return reply.code(204).send()
}

export const deleteAccount: Handle = async (tools, { currentPassword }, request, reply) => {
  const { account, sub } = await tools.prove(request, currentPassword)
  // Proves that the store is there, before anything is done.
  await tools.sessions.list(sub)
  await ask(() => tools.resolved.given.remove?.(account.user as never, request))
  await tools.sessions.revoke({ sub })
  tools.registration.carrier.clear(request, reply)
  tools.tell('deleted', 'account-deleted', account, sub, reply)
  return reply.code(204).send()
}
