// Listeners of the channels know what they get, without a cast.
import { channel, subscribe, type Channel } from 'node:diagnostics_channel'
import type { FastifyRequest } from 'fastify'
import {
  channels,
  type AuthnChannel,
  type AuthnChannels,
  type AuthnEvents,
  type AuthUser,
  type RejectionCode,
  type RejectionEvent,
  type SuccessEvent,
} from 'fastify-authn'
import { exactly } from '../exactly.js'

for (const outcome of ['success', 'login'] as const) {
  channels[outcome].subscribe((event, name) => {
    exactly<SuccessEvent>()(event)
    exactly<FastifyRequest>()(event.request)
    exactly<AuthUser>()(event.user)
    exactly<string>()(event.authenticator)
    exactly<number | null>()(event.duration)
    exactly<string | symbol>()(name)
    // @ts-expect-error -- only rejections have a code
    event.code.toLowerCase()
  })
}
for (const outcome of ['failure', 'throttled', 'overloaded'] as const) {
  channels[outcome].subscribe(({ code, request, authenticator, duration }) => {
    exactly<RejectionCode>()(code)
    exactly<FastifyRequest>()(request)
    exactly<string>()(authenticator)
    exactly<number | null>()(duration)
  })
}
channels.failure.subscribe(({ user }) => exactly<AuthUser | undefined>()(user))
// @ts-expect-error -- no channel
export const none = channels.fault
// @ts-expect-error -- a channel is not replaced
channels.failure = channels.throttled

const listener = ({ code }: RejectionEvent): string => code
channels.overloaded.subscribe(listener)
exactly<boolean>()(channels.overloaded.unsubscribe(listener))

export const names: keyof AuthnEvents = 'login' satisfies keyof AuthnChannels
export const typed: AuthnChannel<AuthnEvents['failure']> = channels.failure
/** The real channel: for functions that take one. */
export const plain: Channel = channels.failure
export const same = channels.failure === channel('fastify-authn:failure')
subscribe('fastify-authn:failure', (message) => (message as RejectionEvent).code)
