// Runs before `npm publish`: users of a published package must be able to find its source and its authors, and to report
// a bug or a vulnerability.
import { readFileSync } from 'node:fs'

const given = JSON.parse(readFileSync('package.json', 'utf8'))
const missing = ['repository', 'bugs', 'author'].filter((member) => !given[member])
if (missing.length > 0) {
  console.error(
    `package.json lacks ${missing.join(', ')}. Set them before you publish, and say in SECURITY.md where to report a vulnerability.`,
  )
  process.exitCode = 1
}
