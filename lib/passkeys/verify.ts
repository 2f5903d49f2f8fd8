import { Errors } from '@sinclair/typebox/errors'
import * as Type from '@sinclair/typebox/type'
import type { AuthenticationResponseJSON, RegistrationResponseJSON } from '@simplewebauthn/server'
import { digestOf } from '../common/digest.js'
import { isAuthenticationError, rejection } from '../errors/errors.js'
import { firstError, stepsTo } from '../options/check.js'
import type { ResolvedPasskeys } from './options.js'
import type { Passkey } from '../../types/passkeys.js'

/** EdDSA, ES256 and RS256 (RFC 9053, RFC 8812). */
export const algorithms = [-8, -7, -257]

/**
 * What browsers send where no attestation is asked for (WebAuthn §5.1.3). For other formats, the package fetches lists of
 * revoked certificates from whatever address the certificates of the client name.
 */
const formats = new Set<unknown>(['none', 'packed'])

/** Bytes in base64url. An ID has 1,023 bytes at most, and a handle 64 (WebAuthn §4, §5.4.3). */
const bytes = (maxLength = 16_384) => Type.String({ pattern: '^[\\w-]+$', maxLength })
const id = bytes(1364)

const shapeOf = (response: Type.TProperties) =>
  Type.Object({
    id,
    rawId: id,
    type: Type.Literal('public-key'),
    response: Type.Object({ clientDataJSON: bytes(), ...response }),
  })

const shapes = {
  new: shapeOf({
    attestationObject: bytes(),
    transports: Type.Optional(
      Type.Array(Type.String({ pattern: '^[\\w-]{1,32}$' }), { maxItems: 10 }),
    ),
  }),
  known: shapeOf({ authenticatorData: bytes(), signature: bytes(), userHandle: bytes(86) }),
}

/** What tells a login which passkey of which user it is about: the client may have sent anything. */
export type Assertion = AuthenticationResponseJSON & { response: { userHandle: string } }

export const invalid = (cause: string): Error => rejection('auth.passkey-invalid', { cause })

export type Verifier = ReturnType<typeof verifierOf>

/** Verifies responses of authenticators. All that is wrong with them is ERR_AUTH_PASSKEY_INVALID. */
export function verifierOf({
  webauthn,
  helpers,
  options: { origins, rpId },
}: {
  readonly webauthn: typeof import('@simplewebauthn/server')
  readonly helpers: typeof import('@simplewebauthn/server/helpers')
  readonly options: ResolvedPasskeys
}) {
  const expected = (token: string) => ({
    expectedChallenge: digestOf(token),
    expectedOrigin: origins,
    expectedRPID: rpId,
    requireUserVerification: true,
  })
  return {
    readAssertion: (response: unknown): Assertion => shaped<Assertion>(shapes.known, response),
    /** WebAuthn §7.1 */
    added: (given: unknown, token: string) =>
      unlessInvalid(async () => {
        const response = shaped<RegistrationResponseJSON>(shapes.new, given)
        checkFrame(response)
        const attestation = Buffer.from(response.response.attestationObject, 'base64url')
        const format = helpers.decodeAttestationObject(new Uint8Array(attestation)).get('fmt')
        if (!formats.has(format)) throw invalid('the format of the attestation')
        const options = { ...expected(token), response, supportedAlgorithmIDs: algorithms }
        const { verified, registrationInfo } = await webauthn.verifyRegistrationResponse(options)
        if (!verified) throw invalid('the attestation')
        const { credential, aaguid, credentialBackedUp: backedUp } = registrationInfo
        if (credential.id !== response.id) throw invalid('the id is not the one in the attestation')
        const publicKey = Buffer.from(credential.publicKey).toString('base64url')
        const { counter, transports = [] } = credential
        return { id: credential.id, publicKey, counter, transports, aaguid, backedUp }
      }),
    /** WebAuthn §7.2 */
    used: (response: Assertion, token: string, { id, publicKey }: Passkey) =>
      unlessInvalid(async () => {
        checkFrame(response)
        const key = new Uint8Array(Buffer.from(publicKey, 'base64url'))
        // The counter is compared by us: the package would reject one that has not grown.
        const credential = { id, publicKey: key, counter: 0 }
        const options = { ...expected(token), response, credential }
        const { verified, authenticationInfo } =
          await webauthn.verifyAuthenticationResponse(options)
        if (!verified) throw invalid('the signature')
        const { newCounter: counter, credentialBackedUp: backedUp } = authenticationInfo
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
  const text = Buffer.from(response.clientDataJSON, 'base64url').toString()
  const { crossOrigin = false, topOrigin } = Object(JSON.parse(text)) as Record<string, unknown>
  if (crossOrigin !== false || topOrigin !== undefined) throw invalid('a frame of another origin')
}

async function unlessInvalid<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    throw isAuthenticationError(error) ? error : invalid(reasonOf(error))
  }
}

/** Messages of the package quote what was sent, which must not turn up in the log. */
function reasonOf(error: unknown): string {
  const { message = '' } = error as Partial<Error>
  return message
    .replace(/["':\n][^]*/, '')
    .slice(0, 100)
    .trim()
}
