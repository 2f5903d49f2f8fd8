import { types } from 'node:util'

/** An object without what is not set. */
export function defined<T extends object>(object: T): { [Key in keyof T]: NonNullable<T[Key]> } {
  const entries = Object.entries(object).filter(([, value]) => value !== undefined)
  return Object.fromEntries(entries) as { [Key in keyof T]: NonNullable<T[Key]> }
}

/** Whether a value has to be awaited. */
export function isThenable<T>(value: T | PromiseLike<T>): value is PromiseLike<T> {
  return typeof (value as { then?: unknown } | null | undefined)?.then === 'function'
}

/** Whether a value is an error, of any realm: never a user, however it got to where one is expected. */
export function isError(value: unknown): value is Error {
  return value instanceof Error || types.isNativeError(value)
}
