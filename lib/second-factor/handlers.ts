import { randomBytes } from 'node:crypto'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { declaredProperty } from '../common/objects.js'
import { rejection } from '../errors/errors.js'
import { requireLevel } from '../guard/level.js'
import { codeInvalid, newRecoveryCodes, randomId, type Factor } from './factor.js'
import { expired } from './tokens.js'
import { base32Of, stepOf } from './totp.js'
import type { Sub } from './store.js'
import type { SecondFactorTools } from './tools.js'

export interface Body {
  readonly token: string
  readonly code: string
  readonly remember?: boolean
}

/** @returns the body of the response; null for a 204 */
export type Handle = (
  tools: SecondFactorTools,
  request: FastifyRequest,
  reply: FastifyReply,
  body: Body,
  started: number,
) => Promise<object | null>

/** Seconds for which an authentication is fresh enough to change a second factor. */
const fresh = 600

const none = (): Error => rejection('auth.forbidden', { cause: 'no second factor' })

export const logIn: Handle = async (tools, request, reply, { token, code, remember }) => {
  const { sub, states, amr, began, validAfter } = tools.tokens.read('login', token)
  const { store, devices } = tools
  const found = await store.find(sub, request)
  if (found === null) throw expired('the user is gone')
  const isOf = (user: object, factor: Factor | null): factor is Factor =>
    factor !== null &&
    states.includes(tools.stateOf(user, factor)) &&
    tools.validAfter(user) <= validAfter
  const user = await tools.useCode(found, sub, code, request, (now, factor) => {
    if (isOf(now, factor)) return factor
    throw expired('the password or the second factor has changed')
  })
  const body = await tools.begin(request, reply, {
    sub,
    user,
    amr,
    // Sessions that were revoked since the password was checked include this one.
    started: performance.now() - Math.max(0, Date.now() - began),
    isSame: (now) => isOf(now, store.factorOf(now, sub)),
  })
  if (remember) devices?.remember(reply, states)
  return body
}

export const status: Handle = async (tools, request, reply) => {
  const { user, sub } = tools.own(request)
  void reply.header('cache-control', 'no-store')
  const factor = tools.store.factorOf(user, sub)
  return { enabled: factor !== null, recoveryCodes: factor?.codes.length ?? 0 }
}

/** What the token of a setup holds, encrypted: nothing is stored before a code has shown that the app has the secret. */
interface Setup {
  readonly secret: string
  /** The id of the factor that it replaces; null for none. */
  readonly replaces: string | null
}

const aboutSetup = (sub: Sub): string => `setup of ${sub}`

export const setUp: Handle = async (tools, request) => {
  const { user, sub, isOn } = tools.own(request)
  requireLevel(request, { fresh, mfa: isOn })
  const { box, accountField, given } = tools.resolved
  const bytes = randomBytes(20)
  const replaces = tools.store.factorOf(user, sub)?.id ?? null
  const setup: Setup = { secret: bytes.toString('base64url'), replaces }
  const token = tools.tokens.make('setup', { box: box.seal(setup, aboutSetup(sub)) })
  const shown = declaredProperty(user, accountField)
  const account = typeof shown === 'string' ? shown.toWellFormed() : String(sub)
  const [issuer, name] = [given.issuer.toWellFormed(), account].map(encodeURIComponent)
  const secret = base32Of(bytes)
  return {
    secret,
    uri: `otpauth://totp/${issuer}:${name}?secret=${secret}&issuer=${issuer}`,
    token,
  }
}

export const enable: Handle = async (tools, request, reply, { token, code }) => {
  const { user: found, sub, amr, isOn } = tools.own(request)
  requireLevel(request, { fresh, mfa: isOn })
  const { secret, replaces } = readSetup(tools, token, sub)
  const password = tools.passwordOf(found)
  const { shown, codes } = newRecoveryCodes()
  // Proves that the store is there, before anything is done.
  await tools.sessions.list(sub)
  const { user } = await tools.store.swap(found, sub, request, (now) => {
    const replaced = tools.store.factorOf(now, sub)?.id ?? null
    if (replaced !== replaces) throw expired('the second factor has changed')
    const step = stepOf(secret, code, -1)
    if (typeof step !== 'number') throw codeInvalid('the app shows another code')
    return { after: { id: randomId(), secret, step, wrong: 0, wait: null, codes } }
  })
  tools.counts.enabled += 1
  tools.tell('enabled', sub, request)
  // They began with less. `finishLogin` rejects logins that are not among them yet. By `sub`, the clocks of two processes
  // could make the next login look older than this.
  const others = await Promise.all(tools.family.map((sessions) => sessions.list(sub)))
  await Promise.all(others.flat().map(({ sid }) => tools.sessions.revoke({ sid })))
  const isSame = (now: object): boolean => tools.passwordOf(now) === password
  const login = { sub, user, amr, started: performance.now(), isSame }
  return { ...(await tools.begin(request, reply, login)), recoveryCodes: shown }
}

/** @throws ERR_AUTH_LOGIN_EXPIRED */
function readSetup({ tokens, resolved }: SecondFactorTools, token: string, sub: Sub): Setup {
  const { box } = tokens.read('setup', token)
  try {
    return resolved.box.open(box, aboutSetup(sub)) as Setup
  } catch {
    throw expired('the setup is of another user, or its key is gone')
  }
}

/** The session that it begins takes the place of the one that it was asked in. */
export const confirm: Handle = async (tools, request, reply, { code }, started) => {
  const { user: found, sub, sid, amr } = tools.own(request)
  const password = tools.passwordOf(found)
  const isSame = (now: object): boolean => tools.passwordOf(now) === password
  const user = await tools.useCode(found, sub, code, request, (_, factor) => {
    if (factor === null) throw none()
    return factor
  })
  const body = await tools.begin(request, reply, { sub, user, amr, started, isSame })
  await tools.sessions.revoke({ sid })
  return body
}

export const renewCodes: Handle = async (tools, request) => {
  const { user, sub } = tools.own(request)
  requireLevel(request, { fresh, mfa: true })
  const { shown, codes } = newRecoveryCodes()
  await tools.store.swap(user, sub, request, (now) => {
    const factor = tools.store.factorOf(now, sub)
    if (factor === null) throw none()
    return { after: { ...factor, codes } }
  })
  tools.tell('recovery-codes', sub, request)
  return { recoveryCodes: shown }
}

export const forgetDevices: Handle = async (tools, request) => {
  const { user, sub } = tools.own(request)
  await tools.store.swap(user, sub, request, (now) => {
    const factor = tools.store.factorOf(now, sub)
    return factor === null ? {} : { after: { ...factor, id: randomId() } }
  })
  return null
}

export const disable: Handle = async (tools, request) => {
  const { user, sub } = tools.own(request)
  requireLevel(request, { fresh, mfa: true })
  await tools.remove(user, sub, sub, request)
  return null
}
