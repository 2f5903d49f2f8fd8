import type { EventEmitter } from 'node:events'
import type { FastifyRequest } from 'fastify'

/** Thrown where a request is given up because its client has gone away. It is not answered. */
export const ABANDONED: unique symbol = Symbol.for('fastify-authn.abandoned')

const watchers = new WeakMap<object, Set<() => void>>()

/**
 * What closes when a client goes away: the stream of HTTP/2, else the socket. Neither the request's own
 * `close`, which also comes when its body has been read, nor `request.signal`, which listens to that.
 */
function connectionOf(request: FastifyRequest): EventEmitter & { destroyed?: boolean } {
  const { stream } = request.raw as unknown as { stream?: EventEmitter }
  return stream ?? request.raw.socket
}

/** Whether the client of a request has gone away. */
export function isGone(request: FastifyRequest): boolean {
  return connectionOf(request).destroyed === true
}

/**
 * Calls back when the client of a request goes away. One listener a connection: with one a request,
 * pipelined requests would pass the limit of listeners.
 *
 * @returns a function that ends the waiting
 */
export function onGone(request: FastifyRequest, callback: () => void): () => void {
  const connection = connectionOf(request)
  let callbacks = watchers.get(connection)
  if (callbacks === undefined) {
    const all = new Set<() => void>()
    callbacks = all
    watchers.set(connection, all)
    connection.once('close', () => {
      for (const each of all) each()
    })
  }
  callbacks.add(callback)
  return () => callbacks.delete(callback)
}
