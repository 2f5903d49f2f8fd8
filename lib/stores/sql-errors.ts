type Described = Readonly<Partial<Record<'code' | 'message' | 'cause' | 'meta', unknown>>> &
  Readonly<Partial<Record<'originalCode' | 'driverAdapterError', unknown>>>

/** An error and those in it: ORMs have that of the driver as `cause`, and Prisma in `meta`. */
export function wrappedIn(error: unknown): readonly Described[] {
  const found: Described[] = []
  for (let next = error; next && found.length < 9;) {
    const described = Object(next) as Described
    found.push(described)
    next = described.cause ?? described.meta ?? described.driverAdapterError
  }
  return found
}

/** Prisma has codes of its own, such as P1001. */
const isSqlState = (code: unknown): code is string =>
  typeof code === 'string' && /^(?!P[1-9])(?=.*\d)[\dA-Z]{5}$/.test(code)

/** The SQLSTATE of an error, but not of those in it. */
export const ownSqlState = ({ code, originalCode }: Described): string | undefined =>
  [code, originalCode].find(isSqlState)

/** The SQLSTATE of an error of a database, wrapped or not; undefined for another error. */
export const sqlStateOf = (error: unknown): string | undefined =>
  wrappedIn(error).map(ownSqlState).find(isSqlState)
