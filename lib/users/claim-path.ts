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

/** Gets the path of a value that gives no names, and the type of the value. */
type Report = (path: string, found: string) => void

/** Reads the roles and scopes at paths of claims, once for claims that are cached; null where there are no paths. */
export function grantsReader(options: { roles?: Paths; scopes?: Paths }, report: Report) {
  const roles = namesReader(options.roles, false, report)
  const scopes = namesReader(options.scopes, true, report)
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
function namesReader(paths: Paths, isSplit: boolean, report: Report) {
  if (paths === undefined) return undefined
  const readers = [paths].flat().map((path) => {
    const [steps, isDue] = [stepsOf(path), onceAMinute()]
    return (claims: object): string[] => {
      const value = steps.reduce(memberOf, claims)
      const names = value === undefined ? [] : namesIn(value, isSplit)
      if (names === null && isDue()) report(path, typeName(value))
      return [...(names ?? [])]
    }
  })
  return (claims: object) => new Set(readers.flatMap((read) => read(claims)))
}

function stepsOf(path: string): string[] {
  const steps = path.match(new RegExp(`${plain}|${bracketed}`, 'g')) as string[]
  return steps.map((step) => (step.startsWith('[') ? (JSON.parse(step) as [string])[0] : step))
}

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
