import * as Type from '@sinclair/typebox/type'
import { anyFunction, flag, nonEmpty, text } from '../options/check.js'

export const registrationName = text('letters, digits, ".", "_" and "-", 64 at most', {
  pattern: '^[0-9A-Za-z._-]{1,64}$',
  quoted: true,
})

export const storeFactory = (description: string) => {
  const open = anyFunction('a function (name) that returns the store of a registration')
  const store = Type.Object({ prefix: nonEmpty, isLocal: flag, open })
  // Only an error of a union can be reported as one of the whole value.
  return Type.Union([store, Type.Never()], { whole: true, description })
}
