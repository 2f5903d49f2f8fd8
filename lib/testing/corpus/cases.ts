import type { InjectOptions } from 'fastify'
import { MALFORMED, parseBasic } from '../../http/authorization.js'
import { brokenTokens, type Need } from '../broken.js'
import {
  badBearer,
  malformedBasic,
  namelessBasic,
  oddTexts,
  otherSchemes,
  wrongBasic,
  type Good,
} from './headers.js'
import { confused, foreignKeys, otherAlgorithms, otherNames, unsigned, type Named } from './keys.js'
import {
  critical,
  futureTimes,
  noObjects,
  notUtf8,
  otherPurposes,
  pastTimes,
  segments,
  signatures,
  strangeNames,
  wrongTimes,
} from './tokens.js'
import type { Material } from '../material.js'

/** A request that must be refused. */
export interface AttackCase {
  readonly name: string
  readonly request: Pick<InjectOptions, 'method' | 'headers' | 'query' | 'cookies' | 'simulate'>
  /** Whether the request counts as one without credentials, which optional routes accept. */
  readonly none?: boolean
  /** The status of a refusal. Default 401. */
  readonly refusal?: number
  /** More statuses that count as a refusal here. */
  readonly refusals?: readonly number[]
}

/** A part of the corpus. */
export interface Corpus {
  readonly cases: readonly AttackCase[]
  readonly leftOut: readonly string[]
}

interface Group {
  readonly title: string
  readonly needs?: Need
  readonly make: (material: Material, url: string) => readonly Named[]
}

const groups: readonly Group[] = [
  ...Object.entries(brokenTokens).map(([title, { needs, make }]): Group => ({
    title,
    ...(needs && { needs }),
    make: (material) => [[title, make(material)]],
  })),
  { title: 'alg none', make: unsigned },
  { title: 'key confusion', needs: 'publicKey', make: (material) => confused(material) },
  { title: 'other algorithms', make: otherAlgorithms },
  { title: 'keys that the token brings along', make: foreignKeys },
  { title: 'names of other keys', needs: 'key', make: otherNames },
  { title: 'crit', needs: 'key', make: critical },
  { title: 'other purposes', needs: 'key', make: otherPurposes },
  { title: 'signatures', needs: 'token', make: signatures },
  { title: 'segments', needs: 'token', make: segments },
  { title: 'payloads that are no objects', needs: 'key', make: noObjects },
  { title: 'invalid UTF-8', needs: 'key', make: notUtf8 },
  { title: 'times of a wrong type', needs: 'key', make: wrongTimes },
  { title: 'times that are over', needs: 'key', make: pastTimes },
  { title: 'times to come', needs: 'key', make: futureTimes },
  { title: 'names that are none', needs: 'key', make: strangeNames },
]

const lacks: Readonly<Record<Need, string>> = {
  key: 'the key that signs is not known',
  publicKey: 'there is no public key',
  token: 'no good token is known',
}

/** Bad tokens, by their names. */
export interface BadTokens {
  readonly tokens: readonly Named[]
  readonly leftOut: readonly string[]
}

/** Makes bad tokens. It takes some 60 ms, most of it for signatures of RSA. */
export function badTokens(material: Material, url: string): BadTokens {
  const isMissing = ({ needs }: Group): boolean =>
    needs !== undefined && material[needs] === undefined
  return {
    tokens: groups.filter((group) => !isMissing(group)).flatMap(({ make }) => make(material, url)),
    leftOut: groups
      .filter(isMissing)
      .map(({ title, needs }) => `${title} (${lacks[needs as Need]})`),
  }
}

/** Bad tokens, as Bearer headers. */
export function tokenCases(tokens: readonly Named[]): AttackCase[] {
  return tokens.flatMap(([title, token]) => headerCase(`token: ${title}`, `Bearer ${token}`))
}

/**
 * Bad `Authorization` headers.
 *
 * @param authorization - a good header, if one is known: slightly changed, it has to be refused
 * @param username - the name of an existing user
 */
export function headerCases(
  authorization: string | undefined,
  material: Pick<Material, 'token'>,
  username: string,
): AttackCase[] {
  const basic = parseBasic(authorization)
  const pair = basic === null || basic === MALFORMED ? { username, password: 'wonderland' } : basic
  const bearer = /^bearer +(.+)$/i.exec(authorization ?? '')?.[1]
  const good: Good = { pair, token: material.token ?? bearer ?? 'eyJhbGciOiJIUzI1NiJ9.e30.c2ln' }
  const wrong = [
    ...malformedBasic(pair),
    ...namelessBasic(pair),
    ...wrongBasic(pair),
    ...badBearer(good),
  ]
  const none = otherSchemes(good)
  return [
    ...wrong.flatMap((header) => headerCase(titleOf(header, good), header)),
    ...none.flatMap((header) => headerCase(titleOf(header, good), header, true)),
  ].filter(({ request }) => request.headers?.authorization !== authorization)
}

/** The case of a header, without surrounding blanks as over a socket; none for a header that no client can send. */
function headerCase(name: string, header: string, none = false): AttackCase[] {
  const authorization = Buffer.from(header).toString('latin1')
  // RFC 9110 §5.5: no control characters, and no white space at the beginning and the end.
  if (!/^[!-~\x80-\xff](?:[\t -~\x80-\xff]*[!-~\x80-\xff])?$/.test(authorization)) return []
  return [{ name, request: { headers: { authorization } }, none }]
}

/** A readable name for a header, without the credentials in it, which may be real ones. */
function titleOf(header: string, { pair: { username, password }, token }: Good): string {
  const pair = Buffer.from(`${username}:${password}`).toString('base64')
  const text = header.replaceAll(token, '<token>').replaceAll(pair, '<pair>')
  const shown = text.length > 60 ? `${text.slice(0, 60)}… (${header.length})` : text
  return `Authorization: ${JSON.stringify(shown)}`
}

/**
 * Requests without credentials: no header at all, and good credentials in wrong places.
 *
 * @param cookieName - the cookie that is no wrong place; null where none is known
 */
export function elsewhereCases(
  method: string,
  good: Readonly<Record<string, string>>,
  cookieName: string | null,
): AttackCase[] {
  const { authorization = '' } = good
  const [scheme = '', token = ''] = authorization.split(' ')
  const cases: AttackCase[] = [{ name: 'no credentials', request: {}, none: true }]
  if (method.toUpperCase() === 'GET') {
    const refusals = [404, 405]
    cases.push({ name: 'no credentials, HEAD', request: { method: 'HEAD' }, none: true, refusals })
  }
  if (token === '') return cases
  const hidden = { access_token: token, token, authorization }
  const cookies = Object.fromEntries(Object.entries(hidden).filter(([name]) => name !== cookieName))
  return [
    ...cases,
    { name: `good ${scheme} in the query`, request: { query: hidden }, none: true },
    { name: `good ${scheme} in cookies`, request: { cookies }, none: true },
    ...['x-authorization', 'proxy-authorization', 'x-access-token'].map((name) => ({
      name: `good ${scheme} in ${name}`,
      request: { headers: { [name]: authorization } },
      none: true,
    })),
  ]
}

/** Headers of another kind than `Authorization` and `Cookie`, such as API keys: cut, longer, empty, another one. */
export function keyCases(good: Readonly<Record<string, string>>): AttackCase[] {
  return Object.entries(good)
    .filter(([name]) => !['authorization', 'cookie'].includes(name.toLowerCase()))
    .flatMap(([name, value]) =>
      wrongKeys(value).map(([title, text]) => ({
        name: `${name}: ${title}`,
        request: { headers: { ...good, [name]: text } },
        none: text === '',
      })),
    )
}

function wrongKeys(value: string): [title: string, text: string][] {
  const start = value.slice(0, -1)
  return [
    ['empty', ''],
    ['a character less', start],
    ['a character more', `${value}x`],
    ['another last character', `${start}${value.endsWith('x') ? 'y' : 'x'}`],
    ['twice', `${value}, ${value}`],
    ...oddTexts.map((text): [string, string] => [text, text]),
    ['15,000 letters', 'x'.repeat(15_000)],
  ]
}
