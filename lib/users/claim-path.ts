import type { FastifyBaseLogger } from 'fastify'
import { ownProperty } from '../common/objects.js'
import { onceAMinute } from '../common/once-a-minute.js'
import { oneOrMore, text } from '../options/check.js'
import { namesInString, stringsOf, typeName } from './granted.js'

const plain = String.raw`[\w:-]+`
const bracketed = String.raw`\["(?:[^"\\\u0000-\u001f]|\\["\\])+"\]`
const pattern = String.raw`^(?:${plain}|${bracketed})(?:\.${plain}|${bracketed})*$`
const form = `a path such as 'realm_access.roles', other names in brackets: '["https://example.com/roles"]'`
const onePath = text(form, { pattern, quoted: true })
export const claimPaths = oneOrMore(onePath, `${form}; or an array of 1 to 20`, 20)

type Paths = string | readonly string[] | undefined
type Mapping = { readonly name: string; readonly roles?: Paths; readonly scopes?: Paths }

/** Reads the roles and scopes at paths of claims, once for claims that are cached; null where there are no paths. */
export function grantsReader(issuer: Mapping, log: FastifyBaseLogger) {
  const roles = namesReader(issuer.roles, false, log.child({ issuer: issuer.name }))
  const scopes = namesReader(issuer.scopes, true, log.child({ issuer: issuer.name }))
  const read = (claims: object) =>
    ({ roles: roles?.(claims), scopes: scopes?.(claims), isLimit: false }) as const
  const known = new WeakMap<object, ReturnType<typeof read>>()
  return (claims: object) => {
    if ((roles ?? scopes) === undefined) return null
    const grants = known.get(claims) ?? read(claims)
    known.set(claims, grants)
    return grants
  }
}

/** @param isSplit - whether a string holds several names; a role may contain spaces */
function namesReader(paths: Paths, isSplit: boolean, log: FastifyBaseLogger) {
  if (paths === undefined) return undefined
  const readers = [paths].flat().map((path) => {
    const found = path.match(new RegExp(`${plain}|${bracketed}`, 'g')) as string[]
    const steps = found.map((step) => (step[0] === '[' ? (JSON.parse(step) as [string])[0] : step))
    const isDue = onceAMinute()
    return (claims: object): string[] => {
      const value = steps.reduce(memberOf, claims)
      const names = value === undefined ? [] : namesIn(value, isSplit)
      if (names === null && isDue()) log.warn({ path, found: typeName(value) }, noNames)
      return [...(names ?? [])]
    }
  })
  return (claims: object) => new Set(readers.flatMap((read) => read(claims)))
}

const noNames = 'A claim holds no names of roles or scopes'

/** Own members of objects alone: neither lists nor strings have any that count. */
function memberOf(value: unknown, name: string): unknown {
  const isObject = typeof value === 'object' && value !== null && !Array.isArray(value)
  return isObject ? ownProperty(value, name) : undefined
}

/** @returns null for anything but non-empty strings */
function namesIn(value: unknown, isSplit: boolean): ReadonlySet<string> | null {
  if (isSplit && typeof value === 'string') return namesInString(value)
  const names = typeof value === 'string' || Array.isArray(value) ? stringsOf([value].flat()) : null
  return names?.has('') === true ? null : names
}
