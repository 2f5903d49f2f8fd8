import { wrongOption } from '../errors.js'

/** @throws ERR_AUTH_OPTION */
export function checkStorePrefix(prefix: unknown, factory: string): string {
  if (typeof prefix === 'string' && /^[\w.:-]{1,64}$/.test(prefix)) return prefix
  return wrongOption(
    `${factory}({ prefix }): found ${JSON.stringify(prefix)}, expected the name of the app: 1 to 64 letters, digits and _ . : -`,
  )
}
