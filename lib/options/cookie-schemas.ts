import * as Type from '@sinclair/typebox/type'
import { optional, strict, text } from './parts.js'

const cookies = Type.Object(
  {
    name: optional(
      text({
        description: 'letters, digits, -, _ and ., 64 at most, with a letter or a digit first',
        pattern: '^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$',
        shown: true,
      }),
    ),
    sameSite: optional(
      Type.Union([Type.Literal('lax'), Type.Literal('strict')], {
        description: "'lax' or 'strict'",
        shown: true,
      }),
    ),
    // Each is checked by trustedOf in lib/cookies/cross-site.ts.
    trustedOrigins: optional(
      Type.Array(Type.String(), {
        description: 'an array of origins such as https://shop.example',
      }),
    ),
  },
  { ...strict, description: 'true, or an object with name, sameSite, trustedOrigins' },
)

export const cookiesSchema = Type.Union([Type.Literal(true), cookies], {
  description: 'true, or an object with name, sameSite, trustedOrigins',
})
