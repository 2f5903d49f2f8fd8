/** An object without what is not set. */
export function defined<T extends object>(object: T): { [Key in keyof T]: NonNullable<T[Key]> } {
  const entries = Object.entries(object).filter(([, value]) => value !== undefined)
  return Object.fromEntries(entries) as { [Key in keyof T]: NonNullable<T[Key]> }
}
