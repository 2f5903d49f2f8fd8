/**
 * The passkeys of the user of a session. At run time it imports nothing: browsers load it as it is built.
 * @module fastify-authn/browser/passkeys
 */

import type { Session, SessionResult } from '../../types/browser.js'
import type { PasskeyList, Passkeys } from '../../types/browser-passkeys.js'

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
const ignore = (): void => undefined

/** Adds, uses and lists the passkeys of a user. The server needs the option `passkeys`. */
export function createPasskeys(session: Session): Passkeys {
  const { navigator, PublicKeyCredential: support } = globalThis as unknown as Surroundings
  /** Aborts the request of `autofill()` that waits for the user. */
  let autofilling: AbortController | undefined
  /** Resolves when the browser has dropped that request. */
  let ended: Promise<unknown> | undefined

  /** Safari fails if another request begins before that. */
  function endAutofill(): Promise<unknown> | undefined {
    autofilling?.abort()
    autofilling = undefined
    return ended
  }

  /** Gets a challenge, has the browser ask the user, and sends the response. */
  async function run(
    kind: Ceremony,
    route: 'passkeys' | 'login/passkey',
    more: object = {},
    signal?: AbortSignal,
  ): Promise<SessionResult> {
    const begun = await session.post(`${route}/options`, {})
    // A page that only offers passkeys shows no error of them.
    if (!begun.ok) return signal ? cancelled : begun
    const { token, publicKey } = begun.body as Challenge
    try {
      const asked = navigator.credentials[kind]({
        publicKey: decoded(publicKey),
        ...(signal && { mediation: 'conditional', signal }),
      })
      if (signal) ended = asked.catch(ignore)
      return await session.post(route, { token, response: encoded(await asked), ...more })
    } catch (error) {
      const { name, message } = error as Error
      return /NotAllowed|Abort/.test(name) ? cancelled : { ...cancelled, error: message }
    }
  }

  async function autofill(): Promise<SessionResult> {
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
      const allAcceptedCredentialIds = passkeys.map(({ id }) => id)
      // So the browser offers none that was removed.
      const told = { rpId, userId, allAcceptedCredentialIds }
      support?.signalAllAcceptedCredentials?.(told).catch(ignore)
    }
    return result
  }

  return {
    isSupported: Boolean(support),
    async logIn() {
      await endAutofill()
      return run('get', 'login/passkey')
    },
    autofill,
    async add(name) {
      await endAutofill()
      return run('create', 'passkeys', { name })
    },
    list,
    async remove(id) {
      const result = await session.post('passkeys/remove', { id })
      if (result.ok) await list()
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
