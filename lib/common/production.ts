/**
 * Whether `NODE_ENV` is `production` or `prod`, in upper or lower case, with or without white space or quotation
 * marks around it (an env file that was read badly leaves them). This is lenient because some things are forbidden in production, and another spelling must not allow them.
 */
export function isProduction(
  env: Readonly<Record<string, string | undefined>> = process.env,
): boolean {
  return /^[\s"']*prod(?:uction)?[\s"']*$/i.test(env.NODE_ENV ?? '')
}
