import { createPublicKey } from 'node:crypto'
import bcrypt from 'bcrypt'
import { basicHeader, requestText } from '../support/connection.js'
import { algorithms, keys, type Algorithm } from './keys.js'
import { betterAuthSession, distinctTokens, tokensOf } from './tokens.js'
import type { Major } from './nodes.js'

/** A server to start: a module of `bench/peers`. */
export interface App {
  readonly peer: string
  readonly settings: Readonly<Record<string, unknown>>
}

/** Requests to one route of an app: what is measured, or what it is measured against. */
export interface Side {
  readonly app: App
  readonly path: string
  /** The `Authorization` headers that are sent in turn, or `Cookie: ` and that header; null for none. */
  readonly credentials: () => readonly (string | null)[]
}

/** One thing to measure: the requests of one process against those of another, in turn. */
export interface Variant extends Side {
  readonly name: string
  readonly group: Group
  readonly node: Major
  readonly algorithm: Algorithm
  readonly baseline: Side
}

export type Group = 'bare' | 'peers' | 'against' | 'scaling'

const bearer = (token: string): string => `Bearer ${token}`
const oneToken =
  (algorithm: Algorithm): Side['credentials'] =>
  () => [bearer(tokensOf(algorithm)())]

const made = new Map<string, string[]>()
/** Signing many takes seconds, so it is done once. */
function tokensFor(algorithm: Algorithm, count: number): Side['credentials'] {
  const key = `${algorithm} ${count}`
  return () => {
    const tokens = made.get(key) ?? distinctTokens(algorithm, count).map(bearer)
    made.set(key, tokens)
    return tokens
  }
}

/** The options of fastify-authn for an algorithm. */
export function authnFor(algorithm: Algorithm, jwt: object = {}): { jwt: object } {
  const { secret, ...key } = keys[algorithm]
  const halves = { private: key.private, public: key.public }
  const sources = {
    HS256: { secret },
    RS256: { rsa: halves },
    ES256: { ecdsa: halves },
    EdDSA: { eddsa: halves },
  }
  return { jwt: { signingMethod: algorithm, ...sources[algorithm], ...jwt } }
}

interface OursMore extends Partial<Pick<Side, 'path' | 'credentials'>> {
  readonly jwt?: object
  readonly authn?: object
  readonly settings?: object
}

function ours(algorithm: Algorithm, { jwt, authn, settings, ...rest }: OursMore = {}): Side {
  const options = { ...authnFor(algorithm, jwt), ...authn }
  return {
    app: { peer: 'ours', settings: { authn: options, ...settings } },
    path: '/protected',
    credentials: oneToken(algorithm),
    ...rest,
  }
}

function theirs(peer: string, algorithm: Algorithm, settings: object = {}): Side {
  return {
    app: { peer, settings: { key: keys[algorithm], ...settings } },
    path: '/protected',
    credentials: oneToken(algorithm),
  }
}

/** A Fastify without any plugin, which gets the same headers. */
function bare({ credentials }: Side): Side {
  return { app: { peer: 'bare', settings: {} }, path: '/open', credentials }
}

function pair(
  name: string,
  side: Side,
  baseline: Side,
  { node = 24, algorithm = 'HS256', group = 'against' }: Partial<Variant> = {},
): Variant {
  return { name: `${name}, Node ${node}`, group, node, algorithm, ...side, baseline }
}

const ofBare = (name: string, side: Side, more: Partial<Variant> = {}): Variant =>
  pair(name, side, bare(side), { group: 'bare', ...more })

/** Pairs of which both are protected routes, or both are of this package, and get the same headers. */
const against = (name: string, side: Side, baseline: Side, more?: Partial<Variant>): Variant =>
  pair(name, side, { ...baseline, credentials: side.credentials }, more)

const password = 'correct horse battery staple'
const passwordHash = bcrypt.hashSync(password, 10)
const basic = ours('HS256', {
  settings: { passwordHash, mark: { use: 'basic' } },
  authn: { throttle: false },
  credentials: () => [basicHeader('user0', password).authorization],
})
const context = { settings: { context: true } }
const nobody = { settings: { mark: 'optional' }, credentials: () => [null] }
const unmarked = ours('HS256', { path: '/open' })
const byHand = (algorithm: Algorithm): Side =>
  theirs('floor-fastify', algorithm, { remember: true })
const synchronous = { style: 'synchronous' }
const cached = { ...synchronous, cache: true }
const documented = { style: 'documented' }

/** A mark with a scope, and a token that has it. */
const scoped = (mark: object): Side =>
  ours('HS256', {
    settings: { mark },
    credentials: () => [bearer(tokensOf('HS256')({ scope: 'notes:read notes:write' }))],
  })

/** A token of a session, on a server that looks whether the session is revoked. */
const ofSession = (authn: object): Side =>
  ours('HS256', {
    authn,
    credentials: () => [bearer(tokensOf('HS256')({ sid: 'jxmiDm7pwX8Bi2Sc0mr9VQ' }))],
  })

/** A token in a cookie: under the name that a browser gets, and under that of a server on this machine. */
const inCookie = ours('HS256', {
  authn: { cookies: true },
  credentials: () => {
    const token = tokensOf('HS256')()
    return [`Cookie: __Host-token=${token}; token=${token}`]
  },
})

/** A key with a right checksum, which the store of `peers/ours.mjs` knows, against a token. */
const apiKey = 'acme_0123456789abcdefAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA4VUoai'
const withKey = ours('HS256', {
  settings: { apiKey, mark: { use: 'apiKey' } },
  credentials: () => [bearer(apiKey)],
})

const kid = 'BvkYs5NXdQ6ySt9sTQ7cvlBdfSxR2jLIYi_bbQR2RlI'

/** A key set with one key, against that key alone; each gets a token of its own. */
function keySet(algorithm: 'HS256' | 'ES256', what: string, jwt: object): Variant {
  const key = keys[algorithm]
  const half = key.secret === undefined ? { private: key.private } : { secret: key.secret }
  const entry = { alg: algorithm, ...half, kid, state: 'sign' }
  const side: Side = ours(algorithm, {
    authn: { jwt: { keys: [entry], ...jwt } },
    credentials: () => [bearer(tokensOf(algorithm, kid)())],
  })
  const name = `${algorithm}, a key set, ${what}: one key without kid`
  return pair(name, side, ours(algorithm, { jwt }), { algorithm })
}

const issuer = { issuer: 'https://id.example.com', audience: 'https://api.example.com' }

/** A token of an issuer, which is also one of our own: both have the same key. */
const issued: Side['credentials'] = () => {
  const { issuer: iss, audience: aud } = issuer
  return [bearer(tokensOf('ES256', 'one')({ iss, aud }))]
}

const ownForApi = ours('ES256', { jwt: { audience: issuer.audience } })

/** @param mark - `true` where only the issuer's tokens are accepted */
const ofIssuer = (mark: unknown, authn: object = { jwt: undefined }): Side => {
  const jwk = { ...createPublicKey(keys.ES256.public ?? '').export({ format: 'jwk' }), kid: 'one' }
  const settings = { issuer: { ...issuer, jwk }, mark }
  return ours('ES256', { settings, authn: { login: false, ...authn }, credentials: issued })
}

const ofBareVariants: readonly Variant[] = [
  ...algorithms.map((algorithm) =>
    ofBare(`fastify-authn, ${algorithm}`, ours(algorithm), { algorithm }),
  ),
  ofBare('fastify-authn, HS256 with fastify-authn/context', ours('HS256', context)),
  ofBare(
    'fastify-authn, HS256, users with a password hash',
    ours('HS256', { settings: { passwordHash } }),
  ),
  ofBare('fastify-authn, HS256, tokenCache: false', ours('HS256', { jwt: { tokenCache: false } })),
  ofBare('fastify-authn, optional, without credentials', ours('HS256', nobody)),
  ofBare('fastify-authn, Basic, cached', basic),
  ofBare('fastify-authn, unmarked route', unmarked),
  ofBare('fastify-authn, HS256', ours('HS256'), { node: 20 }),
  ofBare('fastify-authn, HS256 with fastify-authn/context', ours('HS256', context), { node: 20 }),
  ofBare('fastify-authn, unmarked route', unmarked, { node: 20 }),
]

/** The pairs that targets are about. The two of a pair are measured in turn, which is more exact than to compare shares. */
const againstVariants: readonly Variant[] = [
  ...(['HS256', 'RS256', 'ES256'] as const).flatMap((algorithm) => [
    against(`${algorithm}: by hand with a map`, ours(algorithm), byHand(algorithm), { algorithm }),
    against(
      `${algorithm}: @fastify/jwt, synchronous, cache`,
      ours(algorithm),
      theirs('fastify-jwt', algorithm, cached),
      { algorithm },
    ),
  ]),
  against('HS256: by hand with a map', ours('HS256'), byHand('HS256'), { node: 20 }),
  against('HS256, a scope in the mark: without', scoped({ scope: 'notes:write' }), ours('HS256')),
  against('HS256, sessions: without', ofSession({ sessions: true }), ofSession({})),
  ...([24, 20] as const).map((node) =>
    pair('an API key, cached: HS256', withKey, ours('HS256'), { node }),
  ),
  pair('HS256, in a cookie: in a header', inCookie, ours('HS256')),
  ...(['HS256', 'ES256'] as const).flatMap((algorithm) => [
    keySet(algorithm, 'cached', {}),
    keySet(algorithm, 'first seen', { tokenCache: false }),
  ]),
  against('ES256, of an issuer: of our own', ofIssuer(true), ownForApi, { algorithm: 'ES256' }),
  against(
    'ES256, picked among an issuer and jwt: of our own',
    ofIssuer({ use: ['corp', 'jwt'] }, {}),
    ownForApi,
    { algorithm: 'ES256' },
  ),
  pair(
    '10,000 tokens in rotation: one token',
    ours('HS256', { credentials: tokensFor('HS256', 10_000) }),
    ours('HS256'),
  ),
  ...Object.entries({ 'synchronous, no cache': synchronous, 'jwtVerify()': documented }).map(
    ([name, settings]) =>
      against(
        `20,000 tokens in rotation: @fastify/jwt, ${name}`,
        ours('HS256', { credentials: tokensFor('HS256', 20_000) }),
        theirs('fastify-jwt', 'HS256', settings),
      ),
  ),
]

function peer(name: string, app: string, settings: object = {}): Variant {
  return ofBare(name, theirs(app, 'HS256', settings), { group: 'peers' })
}

/** Its sessions are in the memory of the server; with its cookie cache, in a signed cookie too. */
function betterAuth(name: string, cookieCache: boolean): Variant {
  const { settings, cookies } = betterAuthSession(cookieCache)
  const side = theirs('better-auth', 'HS256', settings)
  return ofBare(name, { ...side, credentials: () => [`Cookie: ${cookies}`] }, { group: 'peers' })
}

const keyObject = { keyObject: true }

const peerVariants: readonly Variant[] = [
  peer('Fastify by hand with a map', 'floor-fastify', { remember: true }),
  peer('@fastify/jwt, jwtVerify()', 'fastify-jwt', documented),
  peer('@fastify/jwt, jwtVerify(), cache', 'fastify-jwt', { ...documented, cache: true }),
  peer('@fastify/jwt, synchronous', 'fastify-jwt', synchronous),
  peer('@fastify/jwt, synchronous, cache', 'fastify-jwt', cached),
  peer('@fastify/jwt + @fastify/auth', 'fastify-jwt', { style: 'auth' }),
  peer('@fastify/passport + passport-jwt', 'passport'),
  peer('@fastify/passport + passport-jwt, KeyObject', 'passport', keyObject),
  peer('Express 5 + express-jwt', 'express'),
  peer('Express 5 + express-jwt, KeyObject', 'express', keyObject),
  peer('Hono + hono/jwt', 'hono'),
  peer('Nest + @nestjs/jwt', 'nest'),
  peer('Nest + @nestjs/jwt, KeyObject', 'nest', keyObject),
  betterAuth('better-auth, getSession()', false),
  betterAuth('better-auth, getSession(), cookie cache', true),
]

const scaled = (name: string, side: Side): Variant => ofBare(name, side, { group: 'scaling' })
const number = (value: number): string => value.toLocaleString('en-US')

/** The claims are padded until the header has about the size wanted; base64url adds a third. */
function headerOf(kib: number): Variant {
  const header = bearer(tokensOf('HS256')({ padding: 'x'.repeat(kib * 768 - 150) }))
  const credentials = (): string[] => [header]
  return scaled(`header of ${number(header.length)} bytes`, ours('HS256', { credentials }))
}

/** How the cost of a protected route grows with what an app may have many of. */
const scalingVariants: readonly Variant[] = [
  scaled(
    '10,000 marked routes',
    ours('HS256', { settings: { routes: 10_000 }, path: '/marked/5000' }),
  ),
  scaled('10,000 tokens in rotation', ours('HS256', { credentials: tokensFor('HS256', 10_000) })),
  scaled('20,000 tokens in rotation', ours('HS256', { credentials: tokensFor('HS256', 20_000) })),
  ...[1, 4].map(headerOf),
]

/** The variants that targets are about, and those of the main table: they are measured more often than the rest. */
export const mainVariants: readonly Variant[] = [...ofBareVariants, ...againstVariants]
export const otherVariants: readonly Variant[] = [...peerVariants, ...scalingVariants]

/** Those with a text in their names, ours or not. */
export function variantsWith(text: string): readonly Variant[] {
  return [...mainVariants, ...otherVariants].filter(({ name }) => name.includes(text))
}

/** The requests of a side, one for each header. */
export function requestsOf({ path, credentials }: Side): string[] {
  return requestsFor(path, credentials())
}

/** The requests for a route, one for each header. */
export function requestsFor(path: string, headers: readonly (string | null)[]): string[] {
  return headers.map((each) => requestText('GET', path, headersOf(each)))
}

/** The headers of a request with these credentials. */
export function headersOf(credentials: string | null): Record<string, string> {
  if (credentials === null) return {}
  const [, cookie] = /^Cookie: (.*)$/.exec(credentials) ?? []
  return cookie === undefined ? { authorization: credentials } : { cookie }
}
