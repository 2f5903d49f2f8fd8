import type { Database } from './database.js'

/** What a client says of a note. */
export interface NoteContent {
  title: string
  text: string
  /** Whether anyone may read it. */
  published: boolean
}

export interface Note extends NoteContent {
  id: number
  owner: string | null
}

const select = `select n.id, u.name as owner, n.title, n.text, n.published
  from demo_notes n join demo_users u on u.id = n.owner_id`

export type Notes = ReturnType<typeof createNotes>

/** Notes in the database. Every statement that is about one person's notes asks for the owner. */
export function createNotes(database: Database) {
  async function find(ownerId: string, id: number): Promise<Note | undefined> {
    const [note] = await database.query<Note>(`${select} where n.owner_id = $1 and n.id = $2`, [
      ownerId,
      id,
    ])
    return note
  }

  return {
    find,

    published: () => database.query<Note>(`${select} where n.published order by n.id limit 100`),

    ownedBy: (ownerId: string) =>
      database.query<Note>(`${select} where n.owner_id = $1 order by n.id limit 100`, [ownerId]),

    async create(ownerId: string, { title, text, published }: NoteContent) {
      const [row] = await database.query<{ id: number }>(
        `insert into demo_notes (owner_id, title, text, published)
         values ($1, $2, $3, $4) returning id`,
        [ownerId, title, text, published],
      )
      return row?.id
    },

    /** @returns whether there was such a note */
    async replace(ownerId: string, id: number, { title, text, published }: NoteContent) {
      const rows = await database.query(
        `update demo_notes set title = $3, text = $4, published = $5
         where owner_id = $1 and id = $2 returning id`,
        [ownerId, id, title, text, published],
      )
      return rows.length > 0
    },

    /**
     * Unpublishes a note, whoever owns it.
     *
     * @returns whether there was such a note
     */
    async withdraw(id: number) {
      const rows = await database.query(
        'update demo_notes set published = false where id = $1 and published returning id',
        [id],
      )
      return rows.length > 0
    },

    /** @returns whether there was such a note */
    async remove(ownerId: string, id: number) {
      const rows = await database.query(
        'delete from demo_notes where owner_id = $1 and id = $2 returning id',
        [ownerId, id],
      )
      return rows.length > 0
    },
  }
}
