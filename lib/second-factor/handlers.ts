import { randomBytes } from 'node:crypto'
import { plainCode } from '../common/code.js'
import { declaredProperty } from '../common/objects.js'
import { requireAlive, requireOwnSession, requireProof } from '../login/proof.js'
import { codeInvalid, newRecoveryCodes, randomId, type Factor } from './factor.js'
import { loginExpired } from '../tokens/step.js'
import { base32Of, stepOf } from './totp.js'
import type { HandleOf } from '../login/feature-routes.js'
import type { Sub } from './store.js'
import { mostLost, noFactor, type SecondFactorTools } from './tools.js'

interface Body {
  readonly token: string
  readonly code: string
  readonly remember?: boolean
}

type Handle = HandleOf<SecondFactorTools, Body>

export const logIn: Handle = async (tools, body, request, reply, started) => {
  const { token, code, remember } = body
  const claims = tools.tokens.login.read(token)
  const { sub, states, amr, began, validAfter, replaces, once } = claims
  // Until then, stores remember that all sessions of a user were revoked.
  if (Date.now() > began + 3_600_000) throw loginExpired('it began an hour ago')
  const { store, devices } = tools
  const found = await store.find(sub, request)
  if (found === null) throw loginExpired('the user is gone')
  const check = (user: object): Factor => {
    const factor = store.factorOf(user, sub)
    const isOf = factor !== null && states.includes(tools.stateOf(user, factor))
    if (isOf && tools.validAfter(user) <= validAfter) return factor
    throw loginExpired('the password or the second factor has changed')
  }
  const device = tools.deviceOf(states, check(found))
  // Sessions that were revoked since the password was checked include this one.
  const login = { sub, user: found, amr, code, check, replaces, once, began, started }
  const result = await tools.begin(request, reply, login)
  if (remember) devices?.remember(reply, device)
  return result
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
  const { user, sub } = await requireProof(tools.registration, request)
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

export const enable: Handle = async (tools, { token, code }, request, reply, started) => {
  const { user: found, sub, amr, sid } = await requireProof(tools.registration, request)
  const { secret, replaces } = readSetup(tools, token, sub)
  const samePassword = tools.samePassword(found, sub)
  const { shown, codes } = newRecoveryCodes()
  const check = (now: object): Factor | null => {
    const factor = samePassword(now)
    if (tools.store.hasCodes(now, sub, codes)) return factor
    throw loginExpired('the second factor has changed')
  }
  await requireAlive(tools.registration, request)
  const id = randomId()
  let before: Factor | null = null
  try {
    const { user } = await tools.store.swap(found, sub, request, (now) => {
      before = tools.store.factorOf(now, sub)
      if ((before?.id ?? null) !== replaces) throw loginExpired('the second factor has changed')
      const step = stepOf(secret, plainCode(code), -1)
      if (typeof step !== 'number') throw codeInvalid('the app shows another code')
      return { after: { id, secret, step, wrong: 0, wait: null, codes } }
    })
    await tools.store.requireCodes(user, sub, request, codes)
    // They began with less. `finishLogin` rejects logins that are not among them yet. By `sub`, the clocks of two processes
    // could make the next login look older than this.
    await tools.registration.app.authn.sessions.revoke({ sub, except: sid })
    const login = { sub, user, amr, started, check, replaces: sid }
    const body = await tools.begin(request, reply, login)
    tools.counts.enabled += 1
    tools.tell('enabled', sub, request)
    return { ...body, recoveryCodes: shown }
  } catch (error) {
    // The recovery codes were not shown, and older sessions may go on.
    const now = await tools.store.find(sub, request)
    const undo = (each: object) =>
      tools.store.factorOf(each, sub)?.id === id ? { after: before } : {}
    if (now !== null) await tools.store.swap(now, sub, request, undo, mostLost)
    throw error
  }
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

export const renewCodes: Handle = async (tools, _body, request) => {
  const { user: found, sub } = await requireProof(tools.registration, request)
  const { shown, codes } = newRecoveryCodes()
  await requireAlive(tools.registration, request)
  const { user } = await tools.store.swap(found, sub, request, (now) => {
    const factor = tools.store.factorOf(now, sub)
    if (factor === null) throw noFactor()
    return { after: { ...factor, codes } }
  })
  await tools.store.requireCodes(user, sub, request, codes)
  tools.tell('recovery-codes', sub, request)
  return { recoveryCodes: shown }
}

export const forgetDevices: Handle = async (tools, _body, request) => {
  const { user, sub } = requireOwnSession(tools.registration, request)
  await requireAlive(tools.registration, request)
  await tools.store.swap(user, sub, request, (now) => {
    const factor = tools.store.factorOf(now, sub)
    return factor === null ? {} : { after: { ...factor, devices: randomId() } }
  })
  return null
}

export const disable: Handle = async (tools, _body, request) => {
  const { user, sub } = await requireProof(tools.registration, request)
  await requireAlive(tools.registration, request)
  await tools.remove(user, sub, sub, request)
  return null
}
