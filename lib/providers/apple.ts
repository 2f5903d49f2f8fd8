import { createPrivateKey, sign, type KeyObject } from 'node:crypto'
import { textOf, wrongEntry, type OpenIdEntry } from './entry.js'
import type { Profile } from '../../types/login-with.js'

/** The options of {@link apple}. */
export interface AppleEntry extends Omit<OpenIdEntry, 'clientSecret'> {
  /** The id of the team, ten characters. */
  teamId: string
  /** The id of the key. */
  keyId: string
  /** The content of the file `AuthKey_….p8`: a P-256 key as PKCS #8 PEM. */
  privateKey: string
}

const issuer = 'https://appleid.apple.com'
const hour = 3600

/**
 * An entry of `loginWith` for Apple; `clientId` is the Services ID. The client secret is made of `privateKey`. `name` comes at the
 * first login alone, in a form that nobody has signed, and is whatever the user wants.
 *
 * @throws ERR_AUTH_OPTION
 */
// developer.apple.com/documentation/signinwithapple: "Creating a client secret", "Configuring your webpage", "Authenticating users"
// (`email_verified` is text or a boolean), read in November 2026.
export function apple<Given extends AppleEntry>({ teamId, keyId, privateKey, ...given }: Given) {
  for (const [option, value] of Object.entries({ teamId, keyId }))
    if (textOf(value) === undefined)
      wrongEntry('apple', option, 'the id, a string (is its variable set?)')
  const key = keyOf(privateKey)
  let [secret, madeAt] = ['', -Infinity]
  return {
    issuer,
    clientAuth: 'post' as const,
    scope: 'openid name email',
    responseMode: 'form_post' as const,
    clientSecret() {
      const now = Math.floor(Date.now() / 1000)
      if (Math.abs(now - madeAt) < hour) return secret
      madeAt = now
      const claims = {
        iss: teamId,
        iat: now,
        exp: now + 2 * hour,
        aud: issuer,
        sub: given.clientId,
      }
      return (secret = signed({ alg: 'ES256', kid: keyId }, claims, key))
    },
    claims(claims: Profile, { user }: { readonly user: string | null }) {
      const [email_verified, is_private_email] = [
        claims.email_verified,
        claims.is_private_email,
      ].map((each) => each === true || (each as unknown) === 'true')
      return { ...claims, name: claims.name ?? nameOf(user), email_verified, is_private_email }
    },
    ...given,
  }
}

/** The errors of `createPrivateKey()` could quote the key. */
function keyOf(pem: unknown): KeyObject {
  const isPem = typeof pem === 'string' && /^\s*-----BEGIN PRIVATE KEY-----\s/.test(pem)
  try {
    const key = isPem ? createPrivateKey(pem) : null
    if (key?.asymmetricKeyDetails?.namedCurve === 'prime256v1') return key
  } catch {
    // Reported below.
  }
  return wrongEntry(
    'apple',
    'privateKey',
    'a P-256 key as PKCS #8 PEM, the content of AuthKey_….p8',
  )
}

/** A JWS (RFC 7515 §3.1). */
function signed(header: object, claims: object, key: KeyObject): string {
  const encode = (part: object): string => Buffer.from(JSON.stringify(part)).toString('base64url')
  const content = `${encode(header)}.${encode(claims)}`
  const signature = sign('sha256', Buffer.from(content), { key, dsaEncoding: 'ieee-p1363' })
  return `${content}.${signature.toString('base64url')}`
}

/** @param user - the field of the form: JSON with `name: { firstName, lastName }` */
function nameOf(user: string | null): string | undefined {
  try {
    const { name } = JSON.parse(user ?? '{}') as { name?: Record<string, unknown> }
    const text = [textOf(name?.firstName), textOf(name?.lastName)].filter(Boolean).join(' ')
    return text !== '' && text.length <= 255 && !/\p{Cc}/u.test(text) ? text : undefined
  } catch {
    return undefined
  }
}
