import { randomBytes } from 'node:crypto'
import { declaredProperty } from '../common/objects.js'
import { rejection } from '../errors/errors.js'
import { requireFreshSession, requireOwnSession } from '../login/own-session.js'
import { codeInvalid, newRecoveryCodes, randomId, type Factor } from './factor.js'
import { loginExpired } from '../tokens/step.js'
import { base32Of, stepOf } from './totp.js'
import type { HandleOf } from '../login/feature-routes.js'
import type { Sub } from './store.js'
import type { SecondFactorTools } from './tools.js'

interface Body {
  readonly token: string
  readonly code: string
  readonly remember?: boolean
}

type Handle = HandleOf<SecondFactorTools, Body>

const none = (): Error => rejection('auth.forbidden', { cause: 'no second factor' })

export const logIn: Handle = async (tools, { token, code, remember }, request, reply) => {
  const { sub, states, amr, began, validAfter } = tools.tokens.login.read(token)
  const { store, devices } = tools
  const found = await store.find(sub, request)
  if (found === null) throw loginExpired('the user is gone')
  const isOf = (user: object, factor: Factor | null): factor is Factor =>
    factor !== null &&
    states.includes(tools.stateOf(user, factor)) &&
    tools.validAfter(user) <= validAfter
  const user = await tools.useCode(found, sub, code, request, (now, factor) => {
    if (isOf(now, factor)) return factor
    throw loginExpired('the password or the second factor has changed')
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

export const status: Handle = async (tools, _body, request) => {
  const { user, sub } = requireOwnSession(tools.registration, request)
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

export const setUp: Handle = async (tools, _body, request) => {
  const { user, sub } = requireFreshSession(tools.registration, request)
  const { box, accountField, given } = tools.resolved
  const bytes = randomBytes(20)
  const replaces = tools.store.factorOf(user, sub)?.id ?? null
  const setup: Setup = { secret: bytes.toString('base64url'), replaces }
  const token = tools.tokens.setup.make({ box: box.seal(setup, aboutSetup(sub)) })
  const shown = declaredProperty(user, accountField)
  const account = typeof shown === 'string' ? shown.toWellFormed() : String(sub)
  const [issuer, name] = [given.issuer.toWellFormed(), account].map(encodeURIComponent)
  const secret = base32Of(bytes)
  const uri = `otpauth://totp/${issuer}:${name}?secret=${secret}&issuer=${issuer}`
  return { secret, uri, token }
}

export const enable: Handle = async (tools, { token, code }, request, reply) => {
  const { user: found, sub, amr } = requireFreshSession(tools.registration, request)
  const { secret, replaces } = readSetup(tools, token, sub)
  const samePassword = tools.samePassword(found)
  const { shown, codes } = newRecoveryCodes()
  const isSame = (now: object) => samePassword(now) && tools.store.hasCodes(now, sub, codes)
  const { sessions } = tools.registration.app.authn
  // Proves that the store is there, before anything is done.
  await sessions.list(sub)
  const { user } = await tools.store.swap(found, sub, request, (now) => {
    const replaced = tools.store.factorOf(now, sub)?.id ?? null
    if (replaced !== replaces) throw loginExpired('the second factor has changed')
    const step = stepOf(secret, code.replace(/\s/g, ''), -1)
    if (typeof step !== 'number') throw codeInvalid('the app shows another code')
    return { after: { id: randomId(), secret, step, wrong: 0, wait: null, codes } }
  })
  await tools.store.requireCodes(user, sub, request, codes)
  tools.counts.enabled += 1
  tools.tell('enabled', sub, request)
  // They began with less. `finishLogin` rejects logins that are not among them yet. By `sub`, the clocks of two processes
  // could make the next login look older than this.
  const others = await Promise.all(tools.family.map((each) => each.list(sub)))
  await Promise.all(others.flat().map(({ sid }) => sessions.revoke({ sid })))
  const login = { sub, user, amr, started: performance.now(), isSame }
  return { ...(await tools.begin(request, reply, login)), recoveryCodes: shown }
}

/** @throws ERR_AUTH_LOGIN_EXPIRED */
function readSetup({ tokens, resolved }: SecondFactorTools, token: string, sub: Sub): Setup {
  const { box } = tokens.setup.read(token)
  try {
    return resolved.box.open(box, aboutSetup(sub)) as Setup
  } catch {
    throw loginExpired('the setup is of another user, or its key is gone')
  }
}

/** The session that it begins takes the place of the one that it was asked in. */
export const confirm: Handle = async (tools, { code }, request, reply, started) => {
  const { user: found, sub, sid, amr } = requireOwnSession(tools.registration, request)
  const isSame = tools.samePassword(found)
  const user = await tools.useCode(found, sub, code, request, (_, factor) => {
    if (factor === null) throw none()
    return factor
  })
  const body = await tools.begin(request, reply, { sub, user, amr, started, isSame })
  await tools.registration.app.authn.sessions.revoke({ sid })
  return body
}

export const renewCodes: Handle = async (tools, _body, request) => {
  const { user: found, sub } = requireFreshSession(tools.registration, request, true)
  const { shown, codes } = newRecoveryCodes()
  const { user } = await tools.store.swap(found, sub, request, (now) => {
    const factor = tools.store.factorOf(now, sub)
    if (factor === null) throw none()
    return { after: { ...factor, codes } }
  })
  await tools.store.requireCodes(user, sub, request, codes)
  tools.tell('recovery-codes', sub, request)
  return { recoveryCodes: shown }
}

export const forgetDevices: Handle = async (tools, _body, request) => {
  const { user, sub } = requireOwnSession(tools.registration, request)
  await tools.store.swap(user, sub, request, (now) => {
    const factor = tools.store.factorOf(now, sub)
    return factor === null ? {} : { after: { ...factor, id: randomId() } }
  })
  return null
}

export const disable: Handle = async (tools, _body, request) => {
  const { user, sub } = requireFreshSession(tools.registration, request, true)
  await tools.remove(user, sub, sub, request)
  return null
}
