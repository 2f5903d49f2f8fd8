import type { FaultCode } from '../../types/errors.js'
import { faultOf, isAuthenticationError } from './errors.js'

/** Calls a function of the app. It may throw an error with a `statusCode` of 4xx for the client; all others are a 500. */
export async function askApp<T>(code: FaultCode, work: () => T | Promise<T>): Promise<T> {
  try {
    const answer = await work()
    if (answer instanceof Error) throw answer
    return answer
  } catch (error) {
    const { statusCode } = Object(error) as { statusCode?: unknown }
    const isForClient = typeof statusCode === 'number' && statusCode >= 400 && statusCode < 500
    throw isForClient || isAuthenticationError(error) ? error : faultOf(code, error)
  }
}
