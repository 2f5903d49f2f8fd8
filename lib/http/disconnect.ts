import { EventEmitter } from 'node:events'
import type { FastifyRequest } from 'fastify'

/** Thrown when the client has disconnected: the work for its request stops, and no reply is sent. */
export const ABANDONED: unique symbol = Symbol('fastify-authn.abandoned')

const watchers = new WeakMap<object, Set<() => void>>()

/** The stream of HTTP/2, or else the socket: the request emits `close` also when its body was read. */
function connectionOf(request: FastifyRequest): EventEmitter & { destroyed?: boolean } {
  const { stream, socket } = request.raw as { stream?: EventEmitter; socket?: EventEmitter }
  // The requests that @fastify/websocket injects have neither.
  return stream ?? socket ?? new EventEmitter()
}

export function isGone(request: FastifyRequest): boolean {
  return connectionOf(request).destroyed === true
}

/**
 * Calls back when the client disconnects, until the returned function is called. All requests of a connection share one
 * listener: Node warns about a socket with more than ten, and pipelining can cause more.
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
