import type { InjectOptions } from 'fastify'
import { MALFORMED, parseBasic } from '../http/authorization.js'
import { changeAt } from './api-keys.js'
import type { AttackOptions, Headers } from './attack-options.js'
import type { Bad } from './broken.js'
import type { Material } from './forge.js'
import type { Watched } from './watched.js'

export interface AttackCase {
  readonly name: string
  readonly request: Pick<InjectOptions, 'method' | 'headers' | 'query' | 'cookies' | 'simulate'>
  /** Whether the request counts as one without credentials, which optional routes accept. */
  readonly none?: boolean
  /** The statuses of a rejection. Default 401. */
  readonly rejections?: readonly number[]
}

export interface Target {
  readonly options: AttackOptions
  readonly method: string
  /** Headers with good credentials; empty if none are known. */
  readonly good: Headers
  readonly material: Material
  readonly tokens: readonly Bad[]
  /** Null if the guard of the route is not ours. */
  readonly watched: Watched | null
  /** An API key that was made for the attack, with the scopes of the route. */
  readonly key: string | undefined
  readonly leftOut: string[]
  readonly statusOf: (request: AttackCase['request']) => Promise<number | null>
}

/** Strings that programs may read as no value, as one of their own, or as a query. */
const oddTexts = ['null', 'undefined', '__proto__', '{"$ne":1}', "' OR '1'='1", '%00']

/** Credentials that are nearly good, or nothing like it, for any scheme or header. */
function nearMisses(good: string): Bad[] {
  return [
    ['first character missing', good.slice(1)],
    ['last character missing', good.slice(0, -1)],
    ['a character more', `${good}x`],
    ['padded', `${good}=`],
    ['a comma', `${good},`],
    ['twice, with a comma', `${good}, ${good}`],
    ['twice, with a space', `${good} ${good}`],
    ['quoted', `"${good}"`],
    ['a parameter', `token="${good}"`],
    ['not ASCII', `${good}\u00e9`],
    ['15,000 letters', 'x'.repeat(15_000)],
    ...oddTexts.map((text): Bad => [text, text]),
  ]
}

/** Basic credentials with a wrong name or password, or that RFC 7617 does not allow. */
function wrongPairs(username: string, password: string): Bad[] {
  const pairs: Bad[] = [
    ['an empty password', `${username}:`],
    ['a longer password', `${username}:${password}x`],
    ['a shorter password', `${username}:${password.slice(0, -1)}`],
    ['the password in capitals', `${username}:${password.toUpperCase()}`],
    ['a password with a space', `${username}:${password} `],
    ['a password with NUL', `${username}:${password}\0`],
    ['an unknown name', `${username}x:${password}`],
    ['an empty name', `:${password}`],
    ['a name that is a query', `${username}'--:${password}`],
    ['undefined for both', 'undefined:undefined'],
    ['no colon', username],
  ]
  return pairs
    .filter(([, pair]) => pair !== `${username}:${password}`)
    .map(([title, pair]) => [title, encoded(pair)])
}

const encoded = (text: string): string => Buffer.from(text).toString('base64')

export function headerCases({ options, good, material, tokens }: Target): AttackCase[] {
  const { token = 'eyJhbGciOiJIUzI1NiJ9.e30.c2ln' } = material
  const { authorization } = good
  const username = String(options.sub ?? 'alice')
  const basic = parseBasic(authorization)
  const pair = basic === null || basic === MALFORMED ? { username, password: 'guess' } : basic
  const [, own = 'Bearer', credentials = token] = /^(\S+) +(.+)$/.exec(authorization ?? '') ?? []
  const bad: Record<string, readonly Bad[]> = {
    Basic: [
      ...nearMisses(encoded(`${pair.username}:${pair.password}`)),
      ...wrongPairs(pair.username, pair.password),
    ],
    Bearer: nearMisses(token),
    ...(/^basic$/i.test(own) ? {} : { [own]: nearMisses(credentials) }),
  }
  const rows = Object.entries(bad).flatMap(([scheme, values]) =>
    values.map(([title, value]): Bad => [`${scheme}, ${title}`, `${scheme} ${value}`]),
  )
  const misplaced: Bad[] = [
    ['the scheme alone', own],
    ['the scheme twice', `${own} ${own} ${credentials}`],
    ['no scheme', credentials],
    ['another scheme', `Digest ${credentials}`],
    ['a scheme that begins alike', `${own}s ${credentials}`],
    ['a colon after the scheme', `${own}:${credentials}`],
    ['no space after the scheme', `${own}${credentials}`],
  ]
  return [
    ...[...rows, ...misplaced].map(([title, text]): Bad => [`Authorization: ${title}`, text]),
    ...tokens.map(([title, each]): Bad => [`token: ${title}`, `Bearer ${each}`]),
  ].map(([name, text]) => ({ name, request: { headers: { authorization: asSent(text) } } }))
}

/** Decodes bytes as Node.js decodes those of a header. */
const asSent = (text: string): string => Buffer.from(text).toString('latin1')

/** Requests without credentials: no header at all, and good credentials in wrong places. */
export function misplacedCases({ method, good, watched }: Target): AttackCase[] {
  const { authorization = '' } = good
  const requests: [string, AttackCase['request']][] = [['no credentials', {}]]
  const [scheme = '', token = ''] = authorization.split(' ')
  if (token !== '') {
    const hidden = Object.entries({ access_token: token, token, authorization })
    const cookies = Object.fromEntries(hidden.filter(([name]) => name !== watched?.cookie))
    requests.push(
      [`good ${scheme} in the query`, { query: Object.fromEntries(hidden) }],
      [`good ${scheme} in cookies`, { cookies }],
      [`good ${scheme} in x-authorization`, { headers: { 'x-authorization': authorization } }],
    )
  }
  const cases = requests.map(([name, request]): AttackCase => ({ name, request, none: true }))
  if (method !== 'GET') return cases
  const head = { name: 'no credentials, HEAD', request: { method: 'HEAD' as const }, none: true }
  return [...cases, { ...head, rejections: [401, 404, 405] }]
}

/** Headers of another kind than `Authorization` and `Cookie`, such as API keys. */
export function keyCases({ good }: Target): AttackCase[] {
  return Object.entries(good)
    .filter(([name]) => name !== 'authorization' && name !== 'cookie')
    .flatMap(([name, value]) => {
      const other = changeAt(value, value.length - 1)
      const bad = [['empty', ''], ['another last character', other], ...nearMisses(value)] as const
      return bad.map(([title, text]) => ({
        name: `${name}: ${title}`,
        request: { headers: { ...good, [name]: asSent(text) } },
        none: text === '',
      }))
    })
}
