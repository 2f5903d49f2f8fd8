// tap asks of each test which files it covers. All of lib: whole-request tests reach what no test of one
// file does; and nothing else: not dist/, which the demo runs on.
import { readdirSync } from 'node:fs'

const files = readdirSync(new URL('../lib/', import.meta.url), { recursive: true })
const covered = files.filter((file) => file.endsWith('.ts')).map((file) => `lib/${String(file)}`)

export default () => covered
