import bcrypt from 'bcrypt'
import { basicHeader, requestText } from '../support/connection.js'
import { algorithms, keys, type Algorithm } from './keys.js'
import { distinctTokens, tokensOf } from './tokens.js'

/** A server to start: a module of `bench/peers`. */
export interface App {
  readonly peer: string
  readonly settings: Readonly<Record<string, unknown>>
}

/** One thing to measure: requests for a protected route, against an open one. */
export interface Variant {
  readonly name: string
  readonly group: Group
  readonly app: App
  /** The app with the open route, or the bare one in the process of the app; default: the same app. */
  readonly baseline?: App | 'beside'
  /** Its route. Default: `/open`. */
  readonly baselinePath?: string
  /** Default: `/protected`. */
  readonly path?: string
  readonly algorithm: Algorithm
  /** The `Authorization` headers that are sent in turn, to both routes; null for none. */
  readonly credentials: () => readonly (string | null)[]
}

export type Group = 'ours' | 'peers' | 'other algorithms' | 'floor' | 'against'

/** Many more than are remembered, so that next to none is known when it comes again. */
const rotation = { HS256: 20_000, RS256: 1200, ES256: 1200, EdDSA: 1200 }

const bearer = (token: string): string => `Bearer ${token}`
const oneToken =
  (algorithm: Algorithm): Variant['credentials'] =>
  () => [bearer(tokensOf(algorithm)())]

/** Signing as many takes seconds, so it is done once. */
function manyTokens(algorithm: Algorithm): Variant['credentials'] {
  let made: string[] | undefined
  return () => (made ??= distinctTokens(algorithm, rotation[algorithm]).map(bearer))
}

/** The options of fastify-authn for an algorithm. */
export function authnFor(algorithm: Algorithm, jwt: object = {}): { jwt: object } {
  const key = keys[algorithm]
  const pair = { private: key.private, public: key.public }
  const sources = {
    HS256: { secret: key.secret },
    RS256: { rsa: pair },
    ES256: { ecdsa: pair },
    EdDSA: { eddsa: pair },
  }
  return { jwt: { signingMethod: algorithm, ...sources[algorithm], ...jwt } }
}

/** The variants of fastify-authn itself. */
function ours(name: string, algorithm: Algorithm, more: Partial<Variant> & OursMore = {}): Variant {
  const { jwt, authn, settings, ...rest } = more
  return {
    name: `fastify-authn, ${algorithm}${name}`,
    group: 'ours',
    algorithm,
    app: {
      peer: 'ours',
      settings: { authn: { ...authnFor(algorithm, jwt), ...authn }, ...settings },
    },
    credentials: oneToken(algorithm),
    ...rest,
  }
}

interface OursMore {
  readonly jwt?: object
  readonly authn?: object
  readonly settings?: object
}

const password = 'correct horse battery staple'
const passwordHash = bcrypt.hashSync(password, 10)
const noContext = { asyncContext: false }

const ourVariants: readonly Variant[] = [
  ...algorithms.map((algorithm) => ours('', algorithm)),
  ...(['HS256', 'RS256', 'ES256'] as const).map((algorithm) =>
    ours(', asyncContext: false', algorithm, { authn: noContext }),
  ),
  ...algorithms.map((algorithm) =>
    ours(', first seen', algorithm, {
      credentials: manyTokens(algorithm),
      jwt: { rememberTokens: { max: 10 } },
    }),
  ),
  ours(', rememberTokens: false', 'HS256', { jwt: { rememberTokens: false } }),
  ours(', users with a password hash', 'HS256', { settings: { passwordHash } }),
  ours(', optional, without credentials', 'HS256', {
    settings: { mark: 'optional' },
    credentials: () => [null],
  }),
  ours(', unmarked route against bare Fastify', 'HS256', {
    path: '/open',
    settings: { beside: true },
    baseline: 'beside',
  }),
  ours('', 'HS256', {
    name: 'fastify-authn, Basic, remembered',
    settings: { passwordHash, mark: { use: 'basic' } },
    authn: { throttle: false },
    credentials: () => [basicHeader('user0', password).authorization],
  }),
]

function peer(
  name: string,
  app: string,
  settings: object = {},
  algorithm: Algorithm = 'HS256',
  group: Group = 'peers',
): Variant {
  return {
    name: `${name}, ${algorithm}`,
    group,
    algorithm,
    app: { peer: app, settings: { key: keys[algorithm], ...settings } },
    credentials: oneToken(algorithm),
  }
}

const keyObject = { keyObject: true }
const cached = { style: 'synchronous', cache: true }

const peerVariants: readonly Variant[] = [
  peer('@fastify/jwt, jwtVerify()', 'fastify-jwt', { style: 'documented' }),
  peer('@fastify/jwt, jwtVerify(), cache', 'fastify-jwt', { style: 'documented', cache: true }),
  peer('@fastify/jwt, synchronous', 'fastify-jwt', { style: 'synchronous' }),
  peer('@fastify/jwt, synchronous, cache', 'fastify-jwt', cached),
  peer('@fastify/jwt + @fastify/auth', 'fastify-jwt', { style: 'auth' }),
  peer('@fastify/passport + passport-jwt', 'passport'),
  peer('@fastify/passport + passport-jwt, KeyObject', 'passport', keyObject),
  peer('Express 5 + express-jwt', 'express'),
  peer('Express 5 + express-jwt, KeyObject', 'express', keyObject),
  peer('Hono + hono/jwt', 'hono'),
  peer('Nest + @nestjs/jwt', 'nest'),
  peer('Nest + @nestjs/jwt, KeyObject', 'nest', keyObject),
  peer('node:http by hand', 'floor', {}, 'HS256', 'floor'),
  peer('node:http by hand, remembering', 'floor', { remember: true }, 'HS256', 'floor'),
  peer('Fastify by hand, remembering', 'floor-fastify', { remember: true }, 'HS256', 'floor'),
  ...(['RS256', 'ES256'] as const).flatMap((algorithm) => [
    other('@fastify/jwt, jwtVerify()', { style: 'documented' }, algorithm),
    other('@fastify/jwt, synchronous, cache', cached, algorithm),
  ]),
]

function other(name: string, settings: object, algorithm: Algorithm): Variant {
  return peer(name, 'fastify-jwt', settings, algorithm, 'other algorithms')
}

/** Ours and a peer in turn, which is more exact than to compare what each has shown by itself. */
function against(name: string, algorithm: Algorithm, settings: object): Variant {
  return {
    ...ours('', algorithm, { authn: noContext }),
    name: `fastify-authn / ${name}, ${algorithm}`,
    group: 'against',
    baseline: { peer: 'fastify-jwt', settings: { key: keys[algorithm], ...settings } },
    baselinePath: '/protected',
  }
}

const documented = { style: 'documented' }

const againstVariants: readonly Variant[] = [
  against('@fastify/jwt, jwtVerify()', 'HS256', documented),
  against('@fastify/jwt, jwtVerify(), cache', 'HS256', { ...documented, cache: true }),
  against('@fastify/jwt, synchronous, cache', 'HS256', cached),
  against('@fastify/jwt, jwtVerify()', 'ES256', documented),
  against('@fastify/jwt, synchronous, cache', 'ES256', cached),
]

export const variants: readonly Variant[] = [...ourVariants, ...peerVariants, ...againstVariants]

/** Those of a quick run: the ways that most apps go, and each peer once. */
export const quickVariants: readonly Variant[] = variants.filter(({ name, group }) =>
  group === 'ours'
    ? /(?:[HRE]S256|HS256, first seen|remembered|bare Fastify)$/.test(name)
    : (group === 'peers' || group === 'floor') &&
      !/KeyObject|by hand, HS256|Fastify by hand/.test(name),
)

/** The requests for a route, one for each header, with what else is to be sent. */
export function requestsFor(path: string, headers: readonly (string | null)[]): string[] {
  return headers.map((authorization) =>
    requestText('GET', path, authorization === null ? {} : { authorization }),
  )
}
