import { createHmac, randomInt } from 'node:crypto'
import { basicHeader, requestText } from './connection.js'

/** A request, and the replies that are right for it. */
export interface Exchange {
  readonly kind: string
  readonly text: string
  readonly statuses: readonly number[]
  /** What a 200 must contain: the caller's own name. */
  readonly body: string
}

export interface Credentials {
  readonly users: number
  readonly secret: string
  readonly password: string
}

type Headers = Record<string, string>

const encode = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url')

function token(claims: object, secret: string, header: object = { alg: 'HS256' }): string {
  const input = `${encode(header)}.${encode(claims)}`
  return `${input}.${createHmac('sha256', secret).update(input).digest('base64url')}`
}

/** Makes requests of all kinds, in proportion. */
export function trafficOf({ users, secret, password }: Credentials): () => Exchange {
  const seconds = (): number => Math.floor(Date.now() / 1000)
  const anyUser = (): string => `user${randomInt(users)}`
  // Those who guess come from other addresses than those who do not, else they would lock them out.
  const honest = (): Headers => ({ 'x-forwarded-for': `10.0.${randomInt(4)}.${randomInt(250)}` })
  const guesser = (): Headers => ({ 'x-forwarded-for': `10.9.0.${randomInt(10)}` })
  const failing = (): Headers => ({ ...honest(), 'x-fail': '1' })
  const bearer = (value: string): Headers => ({ authorization: `Bearer ${value}` })
  const get = (path: string, ...headers: Headers[]): string =>
    requestText('GET', path, Object.assign({}, ...headers) as Headers)
  const login = (headers: Headers, username: string, given: string): string =>
    requestText('POST', '/login', headers, { username, password: given })
  const valid = (sub: string): string => token({ sub, exp: seconds() + 60 }, secret)
  const path = (): string => (randomInt(4) === 0 ? '/optional' : '/jwt')

  /** The share of a kind, the replies that are right for it, and its requests. */
  const kinds: Record<string, [number, number[], (user: string) => string]> = {
    open: [10, [200], () => get('/open', honest())],
    nobody: [3, [401], () => get('/jwt', honest())],
    'valid token': [25, [200], (user) => get(path(), honest(), bearer(valid(user)))],
    'failing, token': [2, [500], (user) => get(path(), failing(), bearer(valid(user)))],
    'expired token': [
      5,
      [401],
      (user) => get(path(), honest(), bearer(token({ sub: user, exp: seconds() - 1 }, secret))),
    ],
    'forged token': [
      5,
      [401],
      (user) => get(path(), honest(), bearer(token({ sub: user, exp: seconds() + 60 }, 'other'))),
    ],
    'token without signature': [
      2,
      [401],
      (user) =>
        get(path(), honest(), bearer(`${encode({ alg: 'none' })}.${encode({ sub: user })}.`)),
    ],
    'malformed token': [
      5,
      [401],
      (user) => get(path(), honest(), bearer(valid(user).slice(randomInt(1, 60)))),
    ],
    'unknown user': [
      3,
      [401],
      () => get(path(), honest(), bearer(valid(`nobody${randomInt(1e9)}`))),
    ],
    'right Basic': [20, [200, 503], (user) => get('/basic', honest(), basicHeader(user, password))],
    'failing, Basic': [2, [500], (user) => get('/basic', failing(), basicHeader(user, password))],
    'wrong Basic': [
      4,
      [401, 429, 503],
      (user) => get('/basic', guesser(), basicHeader(user, `wrong ${randomInt(1e9)}`)),
    ],
    'malformed Basic': [3, [401], () => get('/basic', honest(), { authorization: 'Basic ??' })],
    'right login': [5, [200, 503], (user) => login(honest(), user, password)],
    'failing, login': [1, [500], (user) => login(failing(), user, password)],
    'wrong login': [
      4,
      [401, 429, 503],
      (user) => login(guesser(), user, `wrong ${randomInt(1e9)}`),
    ],
    'malformed login': [1, [400], (user) => login(honest(), user, '')],
  }
  const draw = Object.entries(kinds).flatMap(([kind, [share]]) => Array<string>(share).fill(kind))

  return () => {
    const kind = draw[randomInt(draw.length)] as string
    const [, statuses, make] = kinds[kind] as (typeof kinds)[string]
    const user = anyUser()
    const text = make(user)
    const named = !['open', 'right login'].includes(kind)
    return { kind, text, statuses, body: named ? `"${user}"` : '' }
  }
}
