import { wrongOption } from '../errors.js'
import type { Registration } from '../registration.js'

/**
 * Finds registrations that accept the tokens of each other, while their users differ: alice of the one would pass as
 * alice of the other.
 *
 * @throws ERR_AUTH_OPTION
 */
export function checkSharedKeys(registrations: readonly Registration[]): void {
  for (const [index, one] of registrations.entries()) {
    const other = registrations
      .slice(index + 1)
      .find((each) => acceptSameTokens(one, each) && !haveSameUsers(one, each))
    if (other === undefined) continue
    const [place, otherPlace] = [one, other].map(({ app }) => JSON.stringify(app.prefix || '/'))
    wrongOption(
      `option "jwt": the registrations in the scopes ${place} and ${otherPlace} verify with one key, but have different user services, so that each accepts the tokens of the other. Give each an "audience" of its own, as in jwt: { ...configFromEnv().jwt, audience: 'admin' }, or both one and the same "userService".`,
    )
  }
}

/** Whether two registrations have a key in common, and neither audiences nor issuers that differ. */
export function acceptSameTokens(
  { jwtService: one }: Registration,
  { jwtService: other }: Registration,
): boolean {
  const keys = other.fingerprints()
  const audiences = other.audience
  return (
    one.fingerprints().some((key) => keys.includes(key)) &&
    !(one.audience && audiences && !one.audience.some((name) => audiences.includes(name))) &&
    !(one.issuer && other.issuer && one.issuer !== other.issuer)
  )
}

/**
 * One object; or two with the same members and the same function `findByUsername` among them, which options that are
 * written twice give. Of two classes with members in common, such as a database, each may find its own users.
 */
function haveSameUsers(
  { options: { userService: one } }: Registration,
  { options: { userService: other } }: Registration,
): boolean {
  if (one === undefined || other === undefined || one === other) return true
  const [mine, theirs] = [one, other].map((each) => Object.entries(each))
  return (
    mine !== undefined &&
    mine.length === theirs?.length &&
    mine.some(([name]) => name === 'findByUsername') &&
    mine.every(([name, value]) =>
      theirs.some((member) => member[0] === name && member[1] === value),
    )
  )
}
