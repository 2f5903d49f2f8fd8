import type { FastifyInstance } from 'fastify'
import { AuthnUsageError } from '../errors.js'
import type { MisuseCode } from '../../types/errors.js'

/** Whether there are inner scopes already: their marks, if any, were not heard of. */
export function hasScopes(root: FastifyInstance): boolean {
  const children = Object.getOwnPropertySymbols(root).find(
    ({ description }) => description === 'fastify.children',
  )
  const scopes = children && (root as unknown as Record<symbol, unknown>)[children]
  return Array.isArray(scopes) && scopes.length > 0
}

/** Whether there are routes already: they were not heard of. */
export function hasRoutes(root: FastifyInstance): boolean {
  return root.printRoutes() !== '(empty tree)'
}

/** @returns the error of scopes that were not heard of */
export function lateError(): AuthnUsageError {
  return new AuthnUsageError(
    'ERR_AUTH_MARK',
    'the package was loaded after the app was made, and there are scopes that it did not hear of: their marks would have no effect. Load fastify-authn before you call Fastify(), or register it before everything else.',
  )
}

/** @returns the error of what needs every route, where some were not heard of */
export function missedError(code: MisuseCode, place: string): AuthnUsageError {
  return new AuthnUsageError(
    code,
    `${place}: the package was loaded after routes had been declared, so it does not know them all. Load fastify-authn before you call Fastify().`,
  )
}
