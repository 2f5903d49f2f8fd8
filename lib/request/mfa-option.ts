import * as Type from '@sinclair/typebox/type'
import { ownProperty } from '../common/objects.js'
import { anyFunction, text } from '../options/check.js'
import type { LevelRules } from './level-rules.js'

const description = "an array of acr values such as ['gold'], or a function (claims)"
const acr = text('an acr value: visible ASCII without spaces and quotation marks', {
  pattern: '^[\\x21\\x23-\\x5b\\x5d-\\x7e]+$',
  quoted: true,
})

export const mfaSchema = Type.Union(
  [Type.Array(acr, { minItems: 1, description }), anyFunction(description)],
  { description },
)

/** How claims say that the user was authenticated with several factors: an option `mfa`. */
export type MfaOption<Claims> = readonly string[] | ((claims: Claims) => boolean) | undefined

export function mfaRules<Claims extends object>(mfa: MfaOption<Claims>) {
  if (mfa === undefined || typeof mfa === 'function') {
    return { isMfa: mfa as LevelRules['isMfa'] }
  }
  const isMfa = (claims: object): boolean => mfa.includes(ownProperty(claims, 'acr') as string)
  return { isMfa, acrValues: mfa.join(' ') }
}
