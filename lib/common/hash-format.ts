/** `$2b$` (`$2y$` of PHP), two digits of cost, 22 characters of salt, 31 of digest. */
const hashShape = /^\$2[aby]\$(0[4-9]|[12]\d|3[01])\$[./A-Za-z0-9]{53}$/

export function isBcryptHash(value: unknown): value is string {
  return typeof value === 'string' && value.length === 60 && hashShape.test(value)
}
