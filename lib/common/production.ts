/**
 * Whether `NODE_ENV` is `production` or `prod`, in any case: another spelling must not allow what production forbids.
 */
export function isProduction(
  env: Readonly<Record<string, string | undefined>> = process.env,
): boolean {
  return /^prod(?:uction)?$/i.test(env.NODE_ENV?.trim() ?? '')
}
