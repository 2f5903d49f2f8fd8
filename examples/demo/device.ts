/** A few words for a header `User-Agent`, such as "Chrome on Linux". */
export function deviceOf(userAgent: string): string {
  const name = (names: readonly string[]): string | undefined =>
    names.find((each) => userAgent.includes(each))
  const browser = name(['Firefox', 'Edg', 'Chrome', 'Safari', 'curl'])
  const system = name(['Android', 'iPhone', 'iPad', 'Windows', 'Mac OS X', 'Linux'])
  return [browser ?? 'Something', system].filter(Boolean).join(' on ')
}
