import { existsSync } from 'node:fs'
import { mkdir, readFile, rename, writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { PGlite } from '@electric-sql/pglite'

const library = dirname(dirname(createRequire(import.meta.url).resolve('@electric-sql/pglite')))
const { version } = createRequire(import.meta.url)(join(library, 'package.json')) as {
  version: string
}
/** In node_modules/.cache/, for one version of PGlite: another may keep its databases in another way. */
const emptyDatabase = join(library, `../../.cache/fastify-authn-demo/empty-database-${version}.tar`)

/**
 * Opens PostgreSQL in this process, over a folder or in memory. It takes seconds to make a database, and a
 * fraction of one to load its files: those of the first empty one are kept for all that come later.
 */
export async function openEmbedded(dataDir?: string): Promise<PGlite> {
  const place = dataDir ?? 'memory://'
  if (dataDir !== undefined && existsSync(join(dataDir, 'PG_VERSION'))) return PGlite.create(place)
  const files = await readFile(emptyDatabase).catch(() => undefined)
  if (files !== undefined) return PGlite.create(place, { loadDataDir: new Blob([files]) })
  const database = await PGlite.create(place)
  // Where it cannot be written, every database is made anew.
  await keep(await database.dumpDataDir('none')).catch(() => undefined)
  return database
}

/** Under another name first: a file that is written only in part must not be read. */
async function keep(files: Blob): Promise<void> {
  const draft = `${emptyDatabase}.${process.pid}`
  await mkdir(dirname(emptyDatabase), { recursive: true })
  await writeFile(draft, Buffer.from(await files.arrayBuffer()))
  await rename(draft, emptyDatabase)
}
