import { execFileSync } from 'node:child_process'
import { readFileSync, statSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

const folder = new URL('../../bench/peers/', import.meta.url)
const root = new URL('../../', import.meta.url)

/** When a file was written, in milliseconds; 0 when it is not there. */
function writtenAt(path: string): number {
  return statSync(new URL(path, folder), { throwIfNoEntry: false })?.mtimeMs ?? 0
}

/** Installs the peers where they are not, or others; they have a lock file of their own, which is not the package's. */
export function installPeers(): void {
  if (writtenAt('node_modules/.package-lock.json') >= writtenAt('package-lock.json')) return
  console.log('Installing the peers …')
  execFileSync('npm', ['ci', '--ignore-scripts', '--no-audit', '--no-fund'], {
    cwd: fileURLToPath(folder),
    stdio: 'inherit',
    shell: process.platform === 'win32',
  })
}

/** The exact versions of what is compared, and of Fastify under most of it. */
export function peerVersions(): string[] {
  const { dependencies } = JSON.parse(readFileSync(new URL('package.json', folder), 'utf8')) as {
    dependencies: Record<string, string>
  }
  const peers = Object.entries(dependencies).map(([name, version]) => `${name} ${version}`)
  return [...['fastify', '@fastify/jwt'].map(installedVersion), ...peers]
}

function installedVersion(name: string): string {
  const manifest = new URL(`node_modules/${name}/package.json`, root)
  const { version } = JSON.parse(readFileSync(manifest, 'utf8')) as { version: string }
  return `${name} ${version}`
}
