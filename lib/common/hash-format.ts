/** `$2b$`, two digits of cost, 22 characters of salt, 31 of digest. */
const hashShape = /^\$2[aby]\$(0[4-9]|[12]\d|3[01])\$[./A-Za-z0-9]{53}$/

/** The length of every bcrypt hash, in characters. */
export const hashLength = 60

/** Whether a value is a bcrypt hash. `$2y$` is the prefix that PHP writes. */
export function isBcryptHash(value: unknown): value is string {
  return typeof value === 'string' && value.length === hashLength && hashShape.test(value)
}

/** @returns the cost of a bcrypt hash: 10 means 2^10 rounds */
export function costOf(hash: string): number {
  return Number(hash.slice(4, 6))
}
