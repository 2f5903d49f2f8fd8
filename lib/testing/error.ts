import { AuthnUsageError } from '../errors/errors.js'

export function testingError(message: string): never {
  throw new AuthnUsageError('ERR_AUTH_TESTING', message)
}

/** The row of a flaw. @throws ERR_AUTH_TESTING for one that is not in the table */
export function flawOf<Row>(rows: Readonly<Record<string, Row>>, name: string, caller: string) {
  const expected = Object.keys(rows).join(', ')
  if (Object.hasOwn(rows, name)) return rows[name] as Row
  return testingError(
    `${caller}: found broken: ${JSON.stringify(name)}, expected one of ${expected}.`,
  )
}
