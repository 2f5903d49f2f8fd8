/** `$2b$`, two digits of cost, 22 characters of salt, 31 of digest. */
const hashShape = /^\$2[aby]\$(0[4-9]|[12]\d|3[01])\$[./A-Za-z0-9]{53}$/

/** Of a bcrypt hash, in letters. */
export const hashLength = 60

/** Whether a value is a bcrypt hash, of PHP (`$2y$`) too. */
export function isBcryptHash(value: unknown): value is string {
  return typeof value === 'string' && value.length === hashLength && hashShape.test(value)
}

/** The cost of a hash that {@link isBcryptHash}: the binary logarithm of its rounds. */
export function costOf(hash: string): number {
  return Number(hash.slice(4, 6))
}
