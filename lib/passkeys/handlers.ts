import type { FastifyRequest } from 'fastify'
import { digestOf } from '../common/digest.js'
import { declaredProperty } from '../common/objects.js'
import { notFound } from '../common/stored.js'
import { rejection } from '../errors/errors.js'
import { controlCharacter } from '../http/authorization.js'
import { badRequest } from '../http/query.js'
import { finishLogin } from '../login/finish.js'
import { ownSession, requireAlive, requireOwnSession, requireProof } from '../login/proof.js'
import { stepTime } from '../tokens/step.js'
import { unknown, usedWith, type Owner, type PasskeyTools } from './tools.js'
import { algorithms, invalid } from './verify.js'
import type { HandleOf } from '../login/feature-routes.js'
import type { Passkey } from '../../types/passkeys.js'

export interface Body {
  readonly token: string
  readonly response: unknown
  readonly id: string
  /** At a new passkey, it may be missing. */
  readonly name?: string
}

type Handle = HandleOf<PasskeyTools, Body>

const type = 'public-key'

/** What both ceremonies ask for. A passkey is two factors only if the authenticator verifies its user. */
const asked = { timeout: stepTime * 1000, userVerification: 'required' }

export const loginOptions: Handle = async (tools, _body, request) => {
  const { rpId } = tools.resolved
  const token = tools.tokens.make()
  const own = ownSession(tools.registration, request)
  // Without a list, browsers offer all passkeys of the domain, and nothing tells who exists.
  const passkeys = own === null ? [] : await tools.list(own)
  const allowCredentials = passkeys.map(({ id, transports }) => ({ type, id, transports }))
  const publicKey = { challenge: digestOf(token), rpId, allowCredentials, ...asked }
  return { token, publicKey }
}

export const logIn: Handle = async (tools, body, request, reply, started) => {
  const { user, sub: username } = await use(tools, null, body, request)
  const { amr } = tools.resolved
  const login = { username, user, started, authentication: { amr } }
  return finishLogin(tools.registration, request, reply, login)
}

/** Verifies a response, and uses its challenge up. @param known - the user of a session; null where the response tells it */
export async function use(
  tools: PasskeyTools,
  known: Owner | null,
  { token, response }: Body,
  request: FastifyRequest,
): Promise<Owner> {
  const { tokens, verifier } = tools
  const challenge = tokens.read(token)
  const assertion = verifier.readAssertion(response)
  const owner = known ?? (await tools.ownerOf(assertion.response.userHandle, request))
  let verified: Awaited<ReturnType<typeof verifier.used>> | undefined
  await tools.swap(owner, assertion.id, async (passkey) => {
    const used = usedWith(passkey, challenge)
    // Once: what others have changed meanwhile is no part of it.
    verified ??= await verifier.used(assertion, token, passkey)
    const { counter } = verified
    if (counter <= passkey.counter && counter + passkey.counter > 0) warn(request, owner)
    const at = Number.parseInt(challenge, 10)
    return { ...passkey, ...verified, at, used, lastUsed: new Date().toISOString() }
  })
  tools.tell('used', owner, assertion.id, request)
  return owner
}

/** Passkeys that were synchronized or imported, and two pages at once, look the same as a copied key. */
function warn({ log }: FastifyRequest, { sub }: Owner): void {
  log.warn({ authenticator: 'passkey', sub: String(sub) }, 'The counter of a passkey has not grown')
}

export const addOptions: Handle = async (tools, _body, request) => {
  const owner = await requireProof(tools.registration, request)
  const { rpId, accountField, given } = tools.resolved
  const passkeys = await listWithRoom(tools, owner)
  const handle = await tools.handleOf(owner, passkeys)
  const token = tools.tokens.make(owner.sub)
  const account = declaredProperty(owner.user, accountField)
  const name = typeof account === 'string' && account !== '' ? account : String(owner.sub)
  const publicKey = {
    challenge: digestOf(token),
    rp: { id: rpId, name: given.name },
    user: { id: handle, name, displayName: name },
    pubKeyCredParams: algorithms.map((alg) => ({ type, alg })),
    timeout: asked.timeout,
    attestation: 'none',
    excludeCredentials: passkeys.map(({ id, transports }) => ({ type, id, transports })),
    authenticatorSelection: {
      residentKey: 'required',
      requireResidentKey: true,
      userVerification: asked.userVerification,
    },
  }
  return { token, publicKey }
}

export const add: Handle = async (tools, body, request, reply) => {
  const owner = await requireProof(tools.registration, request)
  tools.tokens.read(body.token, owner.sub)
  const added = await tools.verifier.added(body.response, body.token)
  const created = new Date().toISOString()
  const handle = await tools.handleOf(owner, await listWithRoom(tools, owner))
  const about = { handle, name: nameOf(body), created, lastUsed: null }
  const passkey: Passkey = { ...added, at: 0, used: ['0'], ...about }
  await requireAlive(tools.registration, request)
  const isStored = await tools.store('passkeys.add', (given) => given.add(owner.user, passkey))
  if (!isStored) throw invalid('its id is taken')
  // Only now, since others may have been added meanwhile.
  const passkeys = await listWithRoom(tools, owner, 1).catch(async (error: unknown) => {
    await tools.ask<unknown>((given) => given.remove(owner.user, passkey.id, true))
    throw error
  })
  if (!passkeys.some(({ id, publicKey }) => id === added.id && publicKey === added.publicKey))
    throw notFound('ERR_AUTH_PASSKEYS', 'passkeys.add', 'passkeys.list')
  tools.tell('added', owner, passkey.id, request)
  void reply.code(201)
  return shown(passkey)
}

export const list: Handle = async (tools, _body, request) => {
  const owner = requireOwnSession(tools.registration, request)
  const passkeys = await tools.list(owner)
  const { rpId } = tools.resolved
  return { rpId, userId: await tools.handleOf(owner, passkeys), passkeys: passkeys.map(shown) }
}

export const rename: Handle = async (tools, body, request) => {
  const owner = requireOwnSession(tools.registration, request)
  const name = nameOf(body)
  await requireAlive(tools.registration, request)
  await tools.swap(owner, body.id, (passkey) => ({ ...passkey, name }))
  return null
}

export const remove: Handle = async (tools, body, request) => {
  const owner = await requireProof(tools.registration, request)
  const passkeys = await tools.list(owner)
  const { id } = body
  const removed = passkeys.find((each) => each.id === id)
  if (removed === undefined) throw unknown()
  await requireAlive(tools.registration, request)
  const needsOne = !(await tools.hasOtherWay(owner))
  if (needsOne && passkeys.length === 1) throw rejection('auth.passkey-last')
  const isRemoved = await tools.store('passkeys.remove', (given) =>
    given.remove(owner.user, id, false),
  )
  // It, or another one, may have been removed at the same time.
  const left = isRemoved && !needsOne ? [] : await tools.list(owner)
  if (!isRemoved && left.some((each) => each.id === id))
    throw notFound('ERR_AUTH_PASSKEYS', 'passkeys.remove', 'passkeys.list')
  if (needsOne && left.length === 0) {
    await tools.ask<unknown>((given) => given.add(owner.user, removed))
    throw rejection('auth.passkey-last')
  }
  tools.tell('removed', owner, id, request)
  return null
}

/** @throws (rejects) ERR_AUTH_FORBIDDEN for a user who has as many as are allowed, `added` not counted */
async function listWithRoom(tools: PasskeyTools, owner: Owner, added = 0) {
  const passkeys = await tools.list(owner)
  if (passkeys.length < tools.resolved.most + added) return passkeys
  throw rejection('auth.forbidden', { cause: 'as many passkeys as passkeys.most allows' })
}

/** Databases reject the characters that are rejected here. */
function nameOf({ name = '' }: Body): string {
  if (name.isWellFormed() && !controlCharacter.test(name)) return name
  return badRequest('body/name must be text without control characters')
}

function shown({ id, transports, aaguid, backedUp, name, created, lastUsed }: Passkey) {
  return { id, transports, aaguid, backedUp, name, created, lastUsed }
}
