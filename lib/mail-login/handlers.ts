import type { FastifyRequest } from 'fastify'
import { isAuthenticationError } from '../errors/errors.js'
import { finishLogin } from '../login/finish.js'
import { shortened } from '../http/shortened.js'
import { emailOf } from '../mail/email.js'
import { loginExpired } from '../tokens/step.js'
import { findForLogin, refused } from '../users/user.js'
import type { HandleOf } from '../login/feature-routes.js'
import type { Account } from '../login/stored-accounts.js'
import { changed, type MailLoginTools, type Shown } from './tools.js'

export interface Body {
  readonly email: string
  readonly token: string
  readonly code?: string
}

type Handle = HandleOf<MailLoginTools, Body>

/** The account of an address; null for none; `'rejected'` where its user may not log in by an e-mail. */
async function accountOf(
  tools: MailLoginTools,
  email: string,
  request: FastifyRequest,
): Promise<Account | 'rejected' | null> {
  const account = await tools.accounts
    .find(email, request, findForLogin)
    .catch((error: unknown) => {
      if (!isAuthenticationError(error) || error.statusCode === 503) throw error
      return 'rejected' as const
    })
  if (account === null || account === 'rejected') return account
  // The user of another spelling may be someone else.
  const isSame = emailOf(String(account.values.email)) === email
  const isOpen = isSame && !refused.has(account.user) && (await tools.accepts(account, request))
  return isOpen ? account : 'rejected'
}

export const ask: Handle = async (tools, body, request, reply, started) => {
  const { mails, resolved } = tools
  const { limits } = mails
  const email = await limits.requested(request, body.email)
  const by = limits.dayNames(request, email)
  const { asked, content } = tools.begin(email, by, started)
  const { ip, headers } = request
  // Read now: the address of a connection that is closed is not known.
  const client = { address: shortened(ip, 64), userAgent: shortened(headers['user-agent'], 256) }
  mails.later(reply, async () => {
    const found = await accountOf(tools, email, request)
    const account = found === 'rejected' ? null : found
    // It is made where none is sent, too, so that an unknown address takes as much work as a known one.
    const state = await tools.stateOf(account, request)
    const made = content(state)
    if (found === 'rejected' || (account === null && !resolved.signUp)) return
    // What ends its e-mails ends the count of a mailbox too, or its user could not log in until they have expired.
    const quotas = [limits.mailbox(email, state), ...limits.daily(by)]
    if (!(await mails.hasRoom(request, 'log-in', ...quotas))) return
    const to = account?.values.email ?? email
    await mails
      .send(request, 'log-in', to, account?.user ?? null, { ...made, ...client })
      .catch(async (error: unknown) => {
        await limits.takeBack(...quotas)
        throw error
      })
  })
  void reply.code(202)
  return asked
}

const isWrong = ({ code }: { readonly code?: unknown }): boolean =>
  code === 'ERR_AUTH_MAIL_CODE_INVALID' || code === 'ERR_AUTH_LOGIN_EXPIRED'

export const finish: Handle = async (tools, { token, code }, request, reply, started) => {
  const { registration } = tools
  // Each wrong code counts for the client, and none for its token: a right one is rejected by the fifth wrong one alone.
  const counted = { token: `${token} ${code}` }
  const counts = { isWrong, isAsked: code !== undefined }
  const shown = await registration.attempts.counting(counts, counted, request, () =>
    tools.read(token, code, request),
  )
  const { email, account: found, confirm, began, once } = shown
  const account = found ?? (await signUp(tools, shown, request))
  if (account === null) return null
  const login = {
    username: email,
    user: account.user,
    began,
    started,
    once,
    authentication: { amr: ['otp'] },
    ...(found && { confirm }),
  }
  const body = await finishLogin(registration, request, reply, login)
  await tools.forget(shown)
  return body
}

/** Makes the account of an address that has none. @returns null where it is not found yet */
async function signUp(
  tools: MailLoginTools,
  { id: jti, exp, email }: Shown,
  request: FastifyRequest,
): Promise<Account | null> {
  const { accounts, registration, mails } = tools
  // A store that is away now would leave an account whose e-mail has been used up.
  await registration.app.authn.sessions.list(email)
  const tries = mails.limits.link({ jti, exp })
  if ((await mails.limits.count(tries)) > 0) throw loginExpired('it was used, or tried too often')
  const account = { email, passwordHash: null }
  const created = await accounts.create(account, request, async () => undefined)
  if (created === false) throw loginExpired('the address is taken')
  // Without this, it would make the account again after a deletion.
  await mails.limits.useUp(tries)
  tools.created += 1
  if (created !== null && !(await tools.accepts(created, request))) throw loginExpired(changed)
  return created
}
