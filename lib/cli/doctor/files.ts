import { stat } from 'node:fs/promises'
import { keyFilePaths } from '../../tokens/keys/parse.js'
import { pairVariables, variables } from '../environment.js'
import { quoted, shellWord } from '../text.js'
import { isSet } from './boot.js'
import { warning, type Finding, type Setting } from './finding.js'
import type { Environment } from '../../options/environment.js'

const secrets = variables.filter((name) => /(?:SECRET|PASSPHRASE|PASSWORD)$/.test(name))

/** The permission bits that are too open: all of "others", and "write" of the group. */
const open = 0o027

/** Finds files with secrets that other users of the machine may read or change. */
export async function openFiles({ env, file }: Setting): Promise<Finding[]> {
  const files: { path: string; variable: string | null }[] = pairVariables
    .map((pair) => `${pair}_PRIVATE`)
    .flatMap((variable) => pathsOf(env, variable).map((path) => ({ path, variable })))
  if (file !== null && holdsSecret(file.env)) {
    files.push({ path: file.path, variable: null })
  }
  const found = await Promise.all(files.map(({ path, variable }) => openFile(path, variable)))
  return found.flat()
}

/** The path of the key file that a variable names, if it does not hold the key itself. */
function pathsOf(env: Environment, variable: string): string[] {
  return [...keyFilePaths({ rsa: { private: env[variable] || undefined } }).keys()]
}

function holdsSecret(env: Environment): boolean {
  const isKey = (name: string): boolean => isSet(env, name) && pathsOf(env, name).length === 0
  return (
    secrets.some((name) => isSet(env, name)) ||
    pairVariables.some((pair) => isKey(`${pair}_PRIVATE`))
  )
}

/** @param bits - the permissions that it must not have; Windows has none of them */
export async function openFile(
  path: string,
  variable: string | null,
  bits = open,
): Promise<Finding[]> {
  if (process.platform === 'win32') return []
  // A file that cannot be read is reported elsewhere, as an error.
  const mode = (await stat(path).catch(() => null))?.mode ?? 0
  if ((mode & bits) === 0) return []
  const permissions = (mode & 0o777).toString(8).padStart(3, '0')
  return [
    warning(
      variable,
      `others on this machine may read or change the file ${quoted(path)} (mode ${permissions}).`,
      `chmod 600 ${shellWord(path)}`,
    ),
  ]
}
