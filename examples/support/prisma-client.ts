// Stands for the client that `prisma generate` makes: as much of it as the example uses, with the manners
// of the real one where they matter for authentication.

export interface UserRow {
  id: number
  username: string
  password: string
}

type Select = { readonly [Field in keyof UserRow]?: boolean }
type Selected<S> = Pick<UserRow, Extract<keyof S, keyof UserRow>>
type Where = { readonly [Field in keyof UserRow]?: UserRow[Field] | undefined }

export type PrismaClient = ReturnType<typeof createPrismaClient>

/** @param rows - the table, in the order of its ids */
export function createPrismaClient(rows: UserRow[]) {
  /** What was asked, for tests: fields of `where` and of `select`. */
  const queries: { where: unknown; select: string[] }[] = []

  function pick<S extends Select>(row: UserRow | undefined, where: Where, select: S) {
    const fields = (Object.keys(select) as (keyof UserRow)[]).filter((field) => select[field])
    queries.push({ where, select: fields })
    if (row === undefined) return null
    return Object.fromEntries(fields.map((field) => [field, row[field]])) as Selected<S>
  }

  return {
    queries,
    user: {
      /** Needs the value of a unique field: without one it throws, and finds no user by accident. */
      async findUnique<S extends Select>({ where, select }: { where: Where; select: S }) {
        const isUnique = typeof where.username === 'string' || typeof where.id === 'number'
        if (!isUnique) throw new Error('Argument `where` needs at least one of `id`, `username`.')
        return pick(rows.find(matches(where)), where, select)
      },
      /** A field that is `undefined` is no condition at all: the first row of the table fits. */
      async findFirst<S extends Select>({ where, select }: { where: Where; select: S }) {
        return pick(rows.find(matches(where)), where, select)
      },
      async updateMany({ where, data }: { where: Where; data: Partial<UserRow> }) {
        const found = rows.filter(matches(where))
        for (const row of found) Object.assign(row, data)
        return { count: found.length }
      },
    },
  }
}

function matches(where: Where): (row: UserRow) => boolean {
  const conditions = Object.entries(where).filter(([, value]) => value !== undefined)
  return (row) => conditions.every(([field, value]) => row[field as keyof UserRow] === value)
}
