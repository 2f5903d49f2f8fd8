// Claims of the app's own: merged into JwtClaims in user.ts, or said where a token is verified.
import Fastify from 'fastify'
import {
  EXTRA_JWT_CLAIMS,
  JwtService,
  jwtAuthenticator,
  type JwtClaims,
  type JwtServiceLike,
  type VerifiedClaims,
} from 'fastify-authn'
import { exactly } from '../exactly.js'

type Role = 'admin' | 'member'

const app = Fastify()
declare const tokens: JwtServiceLike

app.get('/', { config: { auth: true } }, (request) => {
  const claims = request.extra[EXTRA_JWT_CLAIMS]
  exactly<Role | undefined>()(claims?.role)
  exactly<number | undefined>()(claims?.exp)
  exactly<unknown>()(claims?.['another'])
  exactly<Role | undefined>()(request.extra.jwtClaims?.role)
  // @ts-expect-error -- no such role
  const never = claims?.role === 'owner'
  // @ts-expect-error -- all requests with the token share them
  if (claims !== undefined) claims.role = 'admin'
  return never
})

exactly<Role | undefined>()(tokens.verify('token').role)
exactly<JwtClaims>()(tokens.verify('token'))

interface Invitation {
  room: string
  seats?: number
}
const invitation = tokens.verify<Invitation>('token', 'ES256', { issuer: 'rooms' })
exactly<string>()(invitation.room)
exactly<number | undefined>()(invitation.seats)
exactly<number | undefined>()(invitation.exp)
exactly<Role | undefined>()(invitation.role)
exactly<unknown>()(invitation['another'])
exactly<VerifiedClaims<Invitation>>()(invitation)
// @ts-expect-error -- they are frozen
invitation.room = 'another'
exactly<string>()(tokens.verify<{ room: string }>('token').room)
exactly<string>()(new JwtService({ secret: 'secret' }).verify<Invitation>('token').room)
exactly<string>()(tokens.verify<Record<string, string>>('token')['room'] ?? '')
export const isClaims: JwtClaims = invitation
// @ts-expect-error -- claims are an object
tokens.verify<string>('token')
// @ts-expect-error -- exp is a number
exactly<string>()(tokens.verify<{ exp: string }>('token').exp)

tokens.generateTokenWithClaims({ sub: 'alice', role: 'admin', another: [1] })
// @ts-expect-error -- no such role
tokens.generateTokenWithClaims({ sub: 'alice', role: 'owner' })
// @ts-expect-error -- seconds since 1970
tokens.generateTokenWithClaims({ sub: 'alice', exp: new Date() })
const unknownClaims: Record<string, unknown> = { sub: 'alice' }
tokens.generateTokenWithClaims(unknownClaims)

// What a token is for.

tokens.generateTokenWithClaims({ sub: 'alice' }, 'HS256', { typ: 'reset+jwt' })
tokens.generateTokenWithClaims({ sub: 'alice' }, undefined, {})
tokens.verify('token', 'HS256', { typ: 'reset+jwt' })
tokens.verify('token', undefined, { typ: ['reset+jwt', 'invite+jwt'] as const })
jwtAuthenticator({ typ: ['reset+jwt'] })
// @ts-expect-error -- a token has one purpose
tokens.generateTokenWithClaims({ sub: 'alice' }, 'HS256', { typ: ['reset+jwt'] })
// @ts-expect-error -- the other members of a header are not the app's
tokens.generateTokenWithClaims({ sub: 'alice' }, 'HS256', { alg: 'none' })
// @ts-expect-error -- a text
tokens.verify('token', 'HS256', { typ: 1 })
// @ts-expect-error -- each authenticator asks for its own
export const noRule = new JwtService({ secret: 'secret', typ: 'reset+jwt' })

export const service: JwtServiceLike = new JwtService({ secret: 'secret' })
