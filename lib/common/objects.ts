export function withoutUndefined<T extends object>(
  object: T,
): { [Key in keyof T]: NonNullable<T[Key]> } {
  const entries = Object.entries(object).filter(([, value]) => value !== undefined)
  return Object.fromEntries(entries) as { [Key in keyof T]: NonNullable<T[Key]> }
}

export function isThenable<T>(value: T | PromiseLike<T>): value is PromiseLike<T> {
  return typeof (value as { then?: unknown } | null | undefined)?.then === 'function'
}

/** @returns undefined for a property that is inherited, such as those of `Object.prototype` */
export function ownProperty(object: object, key: PropertyKey): unknown {
  return Object.hasOwn(object, key) ? (object as Record<PropertyKey, unknown>)[key] : undefined
}

/** Whether an object or its class has a property; those of `Object.prototype` do not count. */
export function isDeclared(object: object, key: PropertyKey): boolean {
  if (Object.hasOwn(object, key)) return true
  const outer = Object.getPrototypeOf(object) as object | null
  return outer !== null && outer !== Object.prototype && isDeclared(outer, key)
}

/** @returns a property of an object or of its class, but undefined for those of `Object.prototype` */
export function declaredProperty(object: object, key: PropertyKey): unknown {
  return isDeclared(object, key) ? (object as Record<PropertyKey, unknown>)[key] : undefined
}

/** Copies an object of the app, which may be an instance of a class, with these members of its class. Functions are bound to it. */
export function withDeclared<T extends object>(given: T, names: readonly string[]): T {
  const all = names.filter((name) => isDeclared(given, name))
  const members = all.map((name) => {
    const value = declaredProperty(given, name)
    return [name, typeof value === 'function' ? (value.bind(given) as unknown) : value]
  })
  return { ...given, ...(Object.fromEntries(members) as object) }
}

/** Whether a value is an object that is no instance of a class. */
export function isPlain(value: unknown): value is Record<PropertyKey, unknown> {
  if (typeof value !== 'object' || value === null) return false
  const prototype: unknown = Object.getPrototypeOf(value)
  return prototype === Object.prototype || prototype === null
}

/** Ignores what a promise of the app rejects with: an unhandled rejection would end the process. */
export function ignoreRejection(value: unknown): void {
  if (isThenable(value)) Promise.resolve(value).catch(() => undefined)
}

/** @param name - of the function, for the error @throws TypeError if not plain; what getters and `toJSON` throw */
export function toJson(value: unknown, name: string): string {
  ignoreRejection(value)
  const json = isPlain(value) ? JSON.stringify(value) : undefined
  if (json !== undefined) return json
  throw new TypeError(`${name}: expected a plain object, not a promise.`)
}
