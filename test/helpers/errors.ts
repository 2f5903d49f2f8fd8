import { inspect } from 'node:util'

/** What a test compares of an error. */
export interface CaughtError {
  readonly code: unknown
  readonly message: string
  readonly error: Error
}

function caught(thrown: unknown): CaughtError {
  const error = thrown as Error & { code?: unknown }
  return { code: error.code, message: error.message, error }
}

/** What a function throws; one that does not throw fails the test. */
export function thrownBy(action: () => unknown): CaughtError {
  let result: unknown
  try {
    result = action()
  } catch (error) {
    return caught(error)
  }
  throw new Error(`nothing was thrown, the result is ${inspect(result)}`)
}

/** What a promise rejects with; one that resolves, or no promise at all, fails the test. */
export async function rejectionOf(promise: unknown): Promise<CaughtError> {
  let result: unknown
  try {
    result = await promise
  } catch (error) {
    return caught(error)
  }
  throw new Error(`nothing was thrown, the result is ${inspect(result)}`)
}

/**
 * Whether an error would put a secret into a log: in its message, its stack, its cause, or anything
 * else that is printed of it. Of a long secret, every part of 20 characters counts.
 */
export function reveals(error: Error, secret: string): boolean {
  const printed = inspect(error, { depth: 10, maxStringLength: null, breakLength: Infinity })
  const shown = [printed, String(error.stack), JSON.stringify(error)].join('\n')
  const parts = secret.match(/[^\s-]{20}/g) ?? [secret]
  return parts.some((part) => shown.includes(part))
}
