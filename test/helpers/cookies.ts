import type { OutgoingHttpHeaders } from 'node:http'
import type { AnyResponse } from './flows.js'

/** A cookie that a reply sets: its name, its value, and its attributes in lower case. */
export interface ReplyCookie {
  readonly name: string
  readonly value: string
  readonly attributes: Readonly<Record<string, string | true>>
}

/** The lines `Set-Cookie` of a reply. */
export function linesOf({ headers }: Pick<AnyResponse, 'headers'>): string[] {
  const lines = (headers as OutgoingHttpHeaders)['set-cookie'] ?? []
  return [lines].flat().map(String)
}

/** The cookies that a reply sets. */
export function cookiesOf(response: Pick<AnyResponse, 'headers'>): ReplyCookie[] {
  return linesOf(response).map((line) => {
    const [pair = '', ...rest] = line.split('; ')
    const equals = pair.indexOf('=')
    const attributes = rest.map((each): [string, string | true] => {
      const [key = '', value] = each.split('=')
      return [key.toLowerCase(), value ?? true]
    })
    return {
      name: pair.slice(0, equals),
      value: pair.slice(equals + 1),
      attributes: Object.fromEntries(attributes),
    }
  })
}
