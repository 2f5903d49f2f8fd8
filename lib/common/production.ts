/** Whether `NODE_ENV` is `production` or `prod`, in any case: no other spelling may allow what production forbids. */
export function isProduction(
  env: Readonly<Record<string, string | undefined>> = process.env,
): boolean {
  return /^prod(?:uction)?$/i.test(env.NODE_ENV?.trim() ?? '')
}
