import type { NeededNames } from '../../../types/marks.js'

/** What a user has who must not pass, with a name for the case. */
export type Lacking<What> = readonly [title: string, what: What]

/** Claims of a token that does not have the scope. */
export type Claims = Readonly<Record<string, unknown>>

/** Names that are enough: all of them, or the first of several any of which is. */
export const enoughOf = (need: NeededNames): readonly string[] =>
  'all' in need ? need.all : need.any.slice(0, 1)

/** Compares the names itself: with the guard's own function, a fault in that one would hide what it lets through. */
function isEnough(need: NeededNames, names: readonly string[]): boolean {
  return 'all' in need
    ? need.all.every((name) => names.includes(name))
    : need.any.some((name) => names.includes(name))
}

/** Names that are nearly the one that is needed: longer, shorter, in another case, patterns of it. */
function nearMisses(name: string): string[] {
  const start = /^(.+)[^\p{L}\p{N}]/u.exec(name)?.[1]
  const longer = [`${name}x`, `x${name}`, `${name}:x`, `${name}.x`, `${name}${name}`]
  const shorter = [name.slice(0, -1), name.slice(1)]
  const capital = `${name.slice(0, 1).toUpperCase()}${name.slice(1)}`
  const folded = [name.toUpperCase(), name.toLowerCase(), capital]
  const patterns = ['*', '.*', `${name}*`, `${name.slice(0, 1)}*`]
  const parts = start === undefined ? [] : [start, `${start}:`, `${start}:*`]
  const values = ['true', 'undefined', 'null', '__proto__', 'constructor', 'length', '0']
  const near = [...longer, ...shorter, ...folded, ...patterns, ...parts, ...values]
  return [...new Set(near)].filter((other) => other !== name && other !== '')
}

/** Lists of names that are not enough. */
export function lackingNames(need: NeededNames): Lacking<readonly string[]>[] {
  const names = new Set('all' in need ? need.all : need.any)
  const lists: Lacking<readonly string[]>[] = [['none', []]]
  for (const name of names) {
    // Of `all`, the other names stay, so that it is this one that is missing.
    const others = 'all' in need ? need.all.filter((other) => other !== name) : []
    if (others.length > 0) lists.push([`all but ${quoted(name)}`, others])
    for (const near of nearMisses(name)) {
      lists.push([`${quoted(near)} for ${quoted(name)}`, [...others, near]])
    }
  }
  return lists.filter(([, list]) => !isEnough(need, list))
}

/** Claims without the scope. */
export function lackingClaims(need: NeededNames): Lacking<Claims>[] {
  const lists = lackingNames(need)
  return [
    ['no claim', {}],
    ...lists.map(([title, list]): Lacking<Claims> => [title, { scope: list.join(' ') }]),
  ]
}

/**
 * Claims that hold the right names, but not where or how RFC 8693 section 4.2 has them: only for an app that takes
 * its scopes from where they stand by default.
 */
export function misplacedClaims(need: NeededNames): Lacking<Claims>[] {
  const names = enoughOf(need)
  const text = names.join(' ')
  const keyed = Object.fromEntries(names.map((name) => [name, true]))
  const scopes = [null, 1, true, {}, [], names, [names], Object.assign({}, names), keyed]
  const lists = [[...names, 1], [names], [`x ${text}`], [` ${text}`], [null, ...names], keyed, null]
  const elsewhere = ['scopes', 'Scope', 'SCOPE', 'scope ', 'permissions', 'roles', 'role', 'azp']
  return [
    ...separated(need),
    ...scopes.flatMap((scope): Lacking<Claims>[] => [
      [`scope ${JSON.stringify(scope)}`, { scope }],
      [`scope ${JSON.stringify(scope)}, and the right scp`, { scope, scp: names }],
    ]),
    ['an empty scope, and the right scp', { scope: '', scp: text }],
    ...lists.map((scp): Lacking<Claims> => [`scp ${JSON.stringify(scp)}`, { scp }]),
    ...lackingNames(need).map(([title, scp]): Lacking<Claims> => [`scp: ${title}`, { scp }]),
    ...elsewhere.flatMap((claim): Lacking<Claims>[] => [
      [`the right names in ${quoted(claim)}`, { [claim]: text }],
      [`an array of the right names in ${quoted(claim)}`, { [claim]: names }],
    ]),
  ]
}

/** The right names with something else than U+0020 between them. */
function separated(need: NeededNames): Lacking<Claims>[] {
  const names = enoughOf(need)
  return [',', ', ', ';', '\t', '\n', '+', '%20', '\u00a0']
    .map((separator) => ['x', ...names, 'x'].join(separator))
    .filter((scope) => !isEnough(need, scope.split(' ')))
    .map((scope) => [quoted(scope), { scope }])
}

/** Users whose fields hold the right roles, but not where or how they are looked for by default. */
export function misplacedRoles(need: NeededNames): Lacking<Claims>[] {
  const names = enoughOf(need)
  const text = names.join(' ')
  const keyed = Object.fromEntries(names.map((name) => [name, true]))
  const roles = [null, text, [names], [...names, 1], Object.assign({}, names), keyed]
  return [
    ...lackingNames(need).flatMap(([title, list]): Lacking<Claims>[] => [
      [title, { roles: list }],
      ...(list.length === 1 ? [[`role: ${title}`, { role: list[0] }] as const] : []),
    ]),
    ...roles.map((each): Lacking<Claims> => [
      `roles ${JSON.stringify(each)}, and the right role`,
      { roles: each, role: names[0] },
    ]),
    ['an array in role', { role: names }],
    ...['Roles', 'scope', 'scopes', 'permissions'].map((field): Lacking<Claims> => [
      `the right roles in ${quoted(field)}`,
      { [field]: names },
    ]),
  ]
}

const quoted = (text: string): string => JSON.stringify(text)
