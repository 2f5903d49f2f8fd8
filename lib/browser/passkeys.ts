/**
 * The passkeys of the user of a session. At run time it imports nothing: browsers load it as it is built.
 * @module fastify-authn/browser/passkeys
 */

import type { Session, SessionResult } from '../../types/browser.js'
import type { ListedPasskey, PasskeyList, Passkeys } from '../../types/browser-passkeys.js'

export type * from '../../types/browser-passkeys.js'

/** The members of browsers that this needs. Names of the DOM are known in `lib/browser/` only. */
interface Surroundings {
  readonly navigator: { readonly credentials: Record<Ceremony, Ask> }
  readonly PublicKeyCredential?: {
    isConditionalMediationAvailable?(): Promise<boolean>
    signalAllAcceptedCredentials?(known: object): Promise<unknown>
  }
}
type Ceremony = 'create' | 'get'
type Ask = (options: object) => Promise<Credential>
interface Credential {
  readonly id: string
  readonly type: string
  readonly response: Readonly<Record<string, ArrayBuffer | null>> & { getTransports?(): string[] }
}
/** What the server asks for. Bytes are texts in base64url. */
interface Challenge {
  readonly token: string
  readonly publicKey: {
    readonly challenge: string
    readonly user?: { readonly id: string }
    readonly excludeCredentials?: readonly { readonly id: string }[]
  }
}

const parts = 'clientDataJSON attestationObject authenticatorData signature userHandle'.split(' ')
/** Milliseconds, less than the 10 minutes for which a challenge can be used. */
const renewal = 540_000
const cancelled = { ok: false, status: 0, error: null, body: null, retryAfter: null }
const exists = { ...cancelled, error: 'This device has a passkey already.', code: 'exists' }
const ignore = (): void => undefined

// A browser has one request at a time for a page, which may call `createPasskeys` several times.
/** Aborts the request of `autofill()` that waits for the user. */
let autofilling: AbortController | undefined
/** Resolves when the browser has dropped that request. */
let ended: Promise<unknown> | undefined
/** Whether `logIn()` or `add()` is asking the user. */
let isBusy = false

/** Safari fails if another request begins before that. */
function endAutofill(): Promise<unknown> | undefined {
  autofilling?.abort()
  autofilling = undefined
  return ended
}

/** Adds, uses and lists the passkeys of a user. The server needs the option `passkeys`. */
export function createPasskeys(session: Session): Passkeys {
  const { navigator, PublicKeyCredential: support } = globalThis as unknown as Surroundings
  /** The ids of what this page has added: a replica of a database may lack them. */
  const added = new Set<string>()

  /** Gets a challenge, has the browser ask the user, and sends the response. */
  async function run(
    kind: Ceremony,
    route: 'passkeys' | 'login/passkey',
    more: object = {},
    signal?: AbortSignal,
  ): Promise<SessionResult> {
    if (!signal) {
      // A second click: the first one is still asking.
      if (isBusy) return cancelled
      isBusy = true
      await endAutofill()
    }
    try {
      const begun = await session.post(`${route}/options`, {})
      // A page that only offers passkeys shows no error of them.
      if (!begun.ok) return signal ? cancelled : begun
      const { token, publicKey } = begun.body as Challenge
      const asked = navigator.credentials[kind]({
        publicKey: decoded(publicKey),
        ...(signal && { mediation: 'conditional', signal }),
      })
      ended = asked.catch(ignore)
      return await session.post(route, { token, response: encoded(await asked), ...more })
    } catch (error) {
      const { name, message } = error as Error
      if (/NotAllowed|Abort/.test(name)) return cancelled
      // The texts of browsers are in no language of the page.
      return /InvalidState/.test(name) ? exists : { ...cancelled, error: message }
    } finally {
      if (!signal) isBusy = false
    }
  }

  async function autofill(): Promise<SessionResult> {
    if (isBusy) return cancelled
    const before = endAutofill()
    let round = (autofilling = new AbortController())
    await before
    if (!(await support?.isConditionalMediationAvailable?.())) return cancelled
    for (;;) {
      const timer = setTimeout(() => round.abort(), renewal)
      const result = await run('get', 'login/passkey', {}, round.signal)
      clearTimeout(timer)
      // What ends it for good takes `autofilling` away.
      if (result !== cancelled || !round.signal.aborted || autofilling !== round) return result
      round = autofilling = new AbortController()
    }
  }

  async function list(): Promise<SessionResult> {
    const result = await session.get('passkeys')
    if (result.ok) {
      const { rpId, userId, passkeys } = result.body as PasskeyList
      // The browser offers no others from then on, and may delete them.
      const ids = new Set([...added, ...passkeys.map(({ id }) => id)])
      const told = { rpId, userId, allAcceptedCredentialIds: [...ids] }
      support?.signalAllAcceptedCredentials?.(told).catch(ignore)
    }
    return result
  }

  return {
    isSupported: Boolean(support),
    logIn: () => run('get', 'login/passkey'),
    autofill,
    async add(name) {
      const result = await run('create', 'passkeys', { name })
      if (result.ok) added.add((result.body as ListedPasskey).id)
      return result
    },
    list,
    async remove(id) {
      const result = await session.post('passkeys/remove', { id })
      if (result.ok) {
        added.delete(id)
        await list()
      }
      return result
    },
    rename: (id, name) => session.post('passkeys/rename', { id, name }),
  }
}

/** The options of the server with bytes. `parseCreationOptionsFromJSON` is missing in browsers of 2024. */
function decoded({ challenge, user, excludeCredentials, ...others }: Challenge['publicKey']) {
  const withBytes = <Item extends { id: string }>(item: Item) => ({ ...item, id: bytesOf(item.id) })
  return {
    ...others,
    challenge: bytesOf(challenge),
    user: user && withBytes(user),
    excludeCredentials: excludeCredentials?.map(withBytes),
  }
}

/** A response as JSON. The `toJSON()` of browsers fails with the objects of password managers. */
function encoded({ id, type, response }: Credential): object {
  const sent: Record<string, unknown> = { transports: response.getTransports?.() }
  for (const part of parts) {
    const bytes = response[part]
    if (bytes) sent[part] = textOf(bytes)
  }
  return { id, rawId: id, type, response: sent }
}

const bytesOf = (text: string): Uint8Array =>
  Uint8Array.from(atob(text.replace(/-/g, '+').replace(/_/g, '/')), (byte) => byte.charCodeAt(0))

const signs: Record<string, string> = { '+': '-', '/': '_' }
const textOf = (bytes: ArrayBuffer): string =>
  btoa(String.fromCharCode(...new Uint8Array(bytes))).replace(/\W/g, (sign) => signs[sign] ?? '')
