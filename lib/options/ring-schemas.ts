import * as Type from '@sinclair/typebox/type'
import { flag, oneOf, optional, signingMethod, strict, text } from './parts.js'

const keyValue = text('PEM text, or the path of a PEM file', { secret: true })
const time = text('a time in ISO 8601 with a zone, such as 2027-01-01T00:10:00Z')

const common = {
  alg: signingMethod,
  private: optional(keyValue),
  public: optional(keyValue),
  kid: optional(
    Type.String({
      minLength: 1,
      maxLength: 256,
      pattern: '^[^\\u0000-\\u001f\\u007f]+$',
      description: 'a text of 1 to 256 characters without control characters',
    }),
  ),
  state: oneOf(['next', 'sign', 'verify'], 'next, sign or verify'),
  since: optional(time),
  until: optional(time),
  legacy: optional(flag),
}

const description = 'an object with alg, state, and one of private, public and secret'

/** An entry of the option `jwt.keys`. */
export const keyEntrySchema = strict(
  {
    ...common,
    secret: optional(
      Type.Union([Type.String({ minLength: 1 }), Type.Uint8Array()], {
        description: 'a string or a Buffer',
        secret: true,
      }),
    ),
    passphrase: optional(text('a non-empty string', { secret: true })),
  },
  description,
)

/** An entry of a ring file. */
export const keyFileEntrySchema = strict(
  {
    ...common,
    secret: optional(text('a text', { secret: true })),
    passphraseEnv: optional(
      text('the name of an environment variable, such as RING_PASSPHRASE', {
        pattern: '^[A-Za-z_][A-Za-z0-9_]*$',
      }),
    ),
  },
  description,
)
