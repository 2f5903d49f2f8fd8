import { refusal } from '../errors.js'
import { within } from '../common/timeout.js'

/**
 * An answer of the app, if it comes in time.
 *
 * @param timeout - seconds; undefined: however long it takes
 * @returns a promise that may also be rejected with ERR_AUTH_USER_SERVICE_TIMEOUT
 */
export function inTime<T>(answer: Promise<T>, timeout: number | undefined): Promise<T>
export function inTime<T>(answer: PromiseLike<T>, timeout: number | undefined): PromiseLike<T>
export function inTime<T>(answer: PromiseLike<T>, timeout: number | undefined): PromiseLike<T> {
  return timeout === undefined ? answer : within(timeout * 1000, answer, () => tooLate(timeout))
}

function tooLate(seconds: number): Error {
  return refusal('auth.overloaded', {
    code: 'ERR_AUTH_USER_SERVICE_TIMEOUT',
    retryAfter: Math.ceil(seconds),
  })
}
