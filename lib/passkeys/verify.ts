import { Errors } from '@sinclair/typebox/errors'
import * as Type from '@sinclair/typebox/type'
import type { AuthenticationResponseJSON, RegistrationResponseJSON } from '@simplewebauthn/server'
import { digestOf } from '../common/digest.js'
import { isAuthenticationError, rejection } from '../errors/errors.js'
import { firstError, stepsTo } from '../options/check.js'
import { checkSize, withoutAttestation } from './cbor.js'
import type { ResolvedPasskeys } from './options.js'
import type { Passkey } from '../../types/passkeys.js'

/** EdDSA, ES256 and RS256 (RFC 9053, RFC 8812). */
export const algorithms = [-8, -7, -257]

/** Bytes in base64url. An ID has 1,023 bytes at most, and a handle 64 (WebAuthn §4, §5.4.3). */
const bytes = (most: number) =>
  Type.String({ pattern: '^[\\w-]+$', maxLength: Math.ceil((most * 4) / 3) })
const id = bytes(1023)

const shapeOf = (response: Type.TProperties) =>
  Type.Object({
    id,
    rawId: id,
    type: Type.Literal('public-key'),
    response: Type.Object({ clientDataJSON: bytes(2048), ...response }),
  })

const shapes = {
  new: shapeOf({ attestationObject: bytes(8192) }),
  known: shapeOf({
    authenticatorData: bytes(1024),
    signature: bytes(1024),
    userHandle: Type.Optional(bytes(64)),
  }),
}

export const invalid = (cause: string): Error => rejection('auth.passkey-invalid', { cause })

export type Verifier = ReturnType<typeof verifierOf>

const bytesOf = (text: string): Buffer => Buffer.from(text, 'base64url')

/** Verifies responses of authenticators. All that is wrong with them is ERR_AUTH_PASSKEY_INVALID. */
export function verifierOf({
  webauthn,
  options: { origins, rpId },
}: {
  readonly webauthn: typeof import('@simplewebauthn/server')
  readonly options: ResolvedPasskeys
}) {
  const expected = (token: string) => ({
    expectedChallenge: digestOf(token),
    expectedOrigin: origins,
    expectedRPID: rpId,
    requireUserVerification: true,
  })
  return {
    readAssertion: (response: unknown) =>
      shaped<AuthenticationResponseJSON>(shapes.known, response),
    /** WebAuthn §7.1 */
    added: (given: unknown, token: string) =>
      unlessInvalid(async () => {
        const response = shaped<RegistrationResponseJSON>(shapes.new, given)
        checkFrame(response)
        const object = withoutAttestation(bytesOf(response.response.attestationObject))
        const inner = { ...response.response, attestationObject: object.toString('base64url') }
        const bare = { ...response, response: inner }
        const options = { ...expected(token), response: bare, supportedAlgorithmIDs: algorithms }
        const { verified, registrationInfo } = await webauthn.verifyRegistrationResponse(options)
        if (!verified) throw invalid('the attestation')
        const { credential, aaguid, credentialBackedUp: backedUp } = registrationInfo
        if (credential.id !== response.id) throw invalid('the id is not the one in the attestation')
        const publicKey = Buffer.from(credential.publicKey).toString('base64url')
        const transports = transportsOf(response.response.transports)
        const { counter } = credential
        return { id: credential.id, publicKey, counter, transports, aaguid, backedUp }
      }),
    /** WebAuthn §7.2 */
    used: (response: AuthenticationResponseJSON, token: string, { id, publicKey }: Passkey) =>
      unlessInvalid(async () => {
        checkFrame(response)
        checkSize(bytesOf(response.response.authenticatorData))
        const key = new Uint8Array(bytesOf(publicKey))
        // The counter is compared by us: the package would reject one that has not grown.
        const credential = { id, publicKey: key, counter: 0 }
        const options = { ...expected(token), response, credential }
        const found = await webauthn.verifyAuthenticationResponse(options)
        if (!found.verified) throw invalid('the signature')
        const { newCounter: counter, credentialBackedUp: backedUp } = found.authenticationInfo
        return { counter, backedUp }
      }),
  }
}

function shaped<Response>(schema: Type.TObject, response: unknown): Response {
  const error = firstError(Errors(schema, response))
  if (error === undefined) return response as Response
  throw invalid(`its member ${stepsTo(error).join('.')}`)
}

/** Another site must not use the passkeys of a page that it has in a frame: the package accepts some of these. */
function checkFrame({ response }: { response: { clientDataJSON: string } }): void {
  const text = bytesOf(response.clientDataJSON).toString()
  const { crossOrigin = false, topOrigin } = Object(JSON.parse(text)) as Record<string, unknown>
  if (crossOrigin !== false || topOrigin !== undefined) throw invalid('a frame of another origin')
}

/** A hint, which some browsers do not give, or with an empty text (WebAuthn §5.8.4). */
function transportsOf(given: unknown): string[] {
  const isName = (each: unknown): each is string =>
    typeof each === 'string' && /^[\w-]{1,32}$/.test(each)
  return Array.isArray(given) ? given.slice(0, 10).filter(isName) : []
}

async function unlessInvalid<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    throw isAuthenticationError(error) ? error : invalid(reasonIn(error as Error))
  }
}

/** The begin of messages of the package. The rest quotes what was sent, which must not turn up in the log. */
const reasons =
  /^(?:Unexpected (?:(?:authentication|registration) response (?:type|challenge|origin)|RP ID|public key alg)|User (?:not present|(?:presence|verification)(?: was)? required)|No credential ID|Leftover bytes)/

const reasonIn = ({ message }: Error): string => reasons.exec(message)?.[0] ?? 'it cannot be read'
