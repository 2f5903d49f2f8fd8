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
/** Sends what the browser has made of a challenge. */
type Finish = (proof: { token: string; response: object }) => Promise<SessionResult>
type Ceremony = 'create' | 'get'
type Ask = (options: object) => Promise<Credential>
interface Credential {
  readonly id: string
  readonly type: string
  readonly response: Readonly<Record<string, ArrayBuffer | null>> & { getTransports?(): string[] }
}
interface Identified {
  id: string | Uint8Array
}
/** What the server asks for. Bytes are texts in base64url. */
interface Challenge {
  readonly token: string
  readonly publicKey: {
    challenge: string | Uint8Array
    readonly rp?: object
    readonly user?: Identified
    readonly excludeCredentials?: Identified[]
    readonly allowCredentials?: Identified[]
  }
}

const parts = 'clientDataJSON attestationObject authenticatorData signature userHandle'.split(' ')
const cancelled = { ok: false, status: 0, error: null, body: null, retryAfter: null }
const exists = { ...cancelled, error: 'There is a passkey already.', code: 'exists' }
const ignore = (): void => undefined

// A browser has one request at a time for a page, which may call `createPasskeys` several times.
/** Aborts the request of `autofill()` that waits for the user. */
let autofilling: AbortController | undefined
/** Resolves when the browser has dropped that request. */
let ended: Promise<unknown> | undefined
/** What `logIn()`, `confirm()` or `add()` is about; '' if there is none. `add()` may wait for `confirm()` until the user is asked. */
let busy: Ceremony | '' = ''

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
    finish: Finish = (proof) => session.post('login/passkey', proof),
    signal?: AbortSignal,
  ): Promise<SessionResult> {
    if (!signal) {
      // A second click: the first one is still asking.
      if (finish === session.confirm ? busy === 'get' : busy) return cancelled
      busy = kind
      await endAutofill()
    }
    try {
      const begun = await session.post(
        kind === 'get' ? 'login/passkey/options' : 'passkeys/options',
      )
      // A page that only offers passkeys shows no error of them.
      if (!begun.ok) return signal ? cancelled : begun
      if (!signal) busy = 'get'
      const { token, publicKey } = begun.body as Challenge
      const asked = navigator.credentials[kind]({
        publicKey: decoded(publicKey),
        mediation: signal && 'conditional',
        signal,
      })
      ended = asked.catch(ignore)
      return await finish({ token, response: encoded(await asked) })
    } catch (error) {
      const { name, message } = error as Error
      if (/NotAllowed|Abort/.test(name)) return cancelled
      // The texts of browsers are in no language of the page.
      return /InvalidState/.test(name) ? exists : { ...cancelled, error: message }
    } finally {
      if (!signal) busy = ''
    }
  }

  async function autofill(): Promise<SessionResult> {
    if (busy) return cancelled
    const before = endAutofill()
    let round = (autofilling = new AbortController())
    await before
    if (!(await support?.isConditionalMediationAvailable?.())) return cancelled
    for (;;) {
      // A challenge can be used for 10 minutes.
      const timer = setTimeout(() => round.abort(), 540_000)
      const result = await run('get', undefined, round.signal)
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
    logIn: () => run('get'),
    confirm: () => run('get', session.confirm),
    autofill,
    async add(name) {
      const result = await run('create', (proof) =>
        session.post('passkeys', { ...proof, name: name as string }),
      )
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

/** Turns texts into bytes. `parseCreationOptionsFromJSON` is missing in browsers of 2024. */
function decoded(publicKey: Challenge['publicKey']): object {
  // The id of the server stays: it is a domain.
  const { rp: _rp, ...others } = publicKey
  for (const item of Object.values(others).flat() as Partial<Identified>[]) {
    if (item.id) item.id = bytesOf(item.id as string)
  }
  publicKey.challenge = bytesOf(publicKey.challenge as string)
  return publicKey
}

/** A response as JSON. The `toJSON()` of browsers fails with the objects of password managers. */
function encoded({ id, type, response }: Credential): object {
  const sent: Record<string, unknown> = { transports: response.getTransports?.() }
  for (const part of parts) {
    const bytes = response[part]
    if (bytes) {
      const text = btoa(String.fromCharCode(...new Uint8Array(bytes)))
      sent[part] = text.replace(/\+/g, '-').replace(/\//g, '_').replace(/=/g, '')
    }
  }
  return { id, rawId: id, type, response: sent }
}

const bytesOf = (text: string): Uint8Array =>
  Uint8Array.from(atob(text.replace(/-/g, '+').replace(/_/g, '/')), (byte) => byte.charCodeAt(0))
