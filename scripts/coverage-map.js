// Tells tap which files each test covers: all of lib/, because tests of whole requests reach lines that no test of one
// file does. Not dist/, on which the demo runs.
import { readdirSync } from 'node:fs'

const files = readdirSync(new URL('../lib/', import.meta.url), { recursive: true })
const covered = files.filter((file) => file.endsWith('.ts')).map((file) => `lib/${String(file)}`)

export default () => covered
