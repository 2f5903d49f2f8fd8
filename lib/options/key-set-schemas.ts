import * as Type from '@sinclair/typebox/type'
import { flag, oneOf, optional, strict, text } from './check.js'
import { keyValue, passphrase, secretSchema, signingMethod } from './jwt-schemas.js'

/** RFC 3339, with or without seconds. */
const time = text('a time in ISO 8601 with a zone, such as 2027-01-01T00:10:00Z', {
  pattern:
    '^\\d{4}-(0[1-9]|1[0-2])-(0[1-9]|[12]\\d|3[01])T([01]\\d|2[0-3]):[0-5]\\d(:[0-5]\\d([.]\\d{1,9})?)?(Z|[+-]([01]\\d|2[0-3]):[0-5]\\d)$',
})

const common = {
  alg: signingMethod,
  private: optional(keyValue),
  public: optional(keyValue),
  kid: optional(
    Type.String({
      minLength: 1,
      maxLength: 256,
      pattern: '^[^\\u0000-\\u001f\\u007f]+$',
      description: 'a string of 1 to 256 characters without control characters',
    }),
  ),
  state: oneOf(['next', 'sign', 'verify'], 'next, sign or verify'),
  since: optional(time),
  until: optional(time),
  legacy: optional(flag),
  secret: optional(secretSchema),
}

const description = 'an object with alg, state, and one of private, public and secret'

export const keyEntrySchema = strict({ ...common, passphrase: optional(passphrase) }, description)

export const keyFileEntrySchema = strict(
  {
    ...common,
    passphraseEnv: optional(
      text('the name of an environment variable, such as KEYS_PASSPHRASE', {
        pattern: '^[A-Za-z_][A-Za-z0-9_]*$',
      }),
    ),
  },
  description,
)
