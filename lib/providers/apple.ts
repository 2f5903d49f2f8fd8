import { keyOf, nameOf, secretMaker } from './apple-secret.js'
import { entry, ownOf, textOf, wrongEntry } from './entry.js'
import type { AppleEntry, Entry } from '../../types/providers.js'
import type { Profile } from '../../types/login-with.js'

const issuer = 'https://appleid.apple.com'
const isTrue = (value: unknown): boolean => value === true || value === 'true'

/**
 * An entry of `loginWith` for Apple; `clientId` is the Services ID. The client secret is made of `privateKey`. `name` comes at the
 * first login alone, in a form that is not signed, and is whatever the user wants. @throws ERR_AUTH_OPTION
 */
// developer.apple.com/documentation/signinwithapple: "Creating a client secret", "Configuring your webpage", "Authenticating users"
// (`email_verified` is text or a boolean), read in November 2026.
export function apple<Given extends AppleEntry>(
  all: Given,
): Entry<Given, 'teamId' | 'keyId' | 'privateKey'> {
  const { teamId, keyId, privateKey, ...given } = ownOf(all)
  for (const [option, value] of Object.entries({ teamId, keyId }))
    if (textOf(value) === undefined) wrongEntry('apple', option, 'a string')
  const key = keyOf(privateKey)
  if (key === null)
    return wrongEntry('apple', 'privateKey', 'a P-256 key as PKCS #8 PEM, that of AuthKey_….p8')
  const facts = {
    issuer,
    clientAuth: 'post' as const,
    scope: 'openid name email',
    responseMode: 'form_post' as const,
    clientSecret: secretMaker(key, keyId, { iss: teamId, aud: issuer, sub: given.clientId }),
    claims(claims: Profile, { user }: { readonly user: string | null }) {
      const { name = nameOf(user), email_verified, is_private_email } = claims
      const flags = {
        email_verified: isTrue(email_verified),
        is_private_email: isTrue(is_private_email),
      }
      return { ...claims, name, ...flags }
    },
  }
  return entry(facts, given)
}
