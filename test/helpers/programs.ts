import { accessSync, constants, statSync } from 'node:fs'
import { delimiter, join } from 'node:path'

/** Names of the programs that some tests start, in the order in which they are looked for. */
const programs = {
  Redis: ['redis-server'],
  PostgreSQL: ['initdb'],
  curl: ['curl'],
  npm: ['npm'],
  nginx: ['nginx'],
  Caddy: ['caddy'],
  Chromium: ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable'],
} as const

/** Servers and a browser, without which `npm test` is faster. */
const leftOut = process.env.TESTS_LEAVE_OUT?.split(',')

/** The first of these programs that is on PATH; for Chromium also what the variable CHROMIUM names. */
export function findProgram(name: keyof typeof programs): string | null {
  if (leftOut?.includes(name)) return null
  if (name === 'Chromium' && process.env.CHROMIUM) return process.env.CHROMIUM
  const folders = (process.env.PATH ?? '').split(delimiter).filter((folder) => folder !== '')
  const files = programs[name].flatMap((file) => folders.map((folder) => join(folder, file)))
  return files.find(isProgram) ?? null
}

/**
 * The option `skip` of a test that starts this program. scripts/run-tests.js says what to install for it, and which files
 * of lib/ no other test covers.
 */
export const unlessFound = (name: keyof typeof programs): string | false =>
  findProgram(name) === null && `needs ${name}`

function isProgram(file: string): boolean {
  try {
    accessSync(file, constants.X_OK)
    return statSync(file).isFile()
  } catch {
    return false
  }
}
