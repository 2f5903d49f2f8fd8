/** Hooks for `register()` of node:module: these packages cannot be imported. */
export const without = (...packages: string[]): string =>
  `data:text/javascript,${encodeURIComponent(`
export const resolve = (specifier, context, next) => {
  if (${JSON.stringify(packages)}.includes(specifier)) throw new Error('not installed')
  return next(specifier, context)
}`)}`
