// Installs what some tests need besides Node and npm: servers, proxies, curl and a browser.
import { execFileSync } from 'node:child_process'
import { existsSync, rmSync, writeFileSync } from 'node:fs'
import path from 'node:path'

const isFound = (name) =>
  process.env.PATH.split(path.delimiter).some((folder) => existsSync(path.join(folder, name)))
/** Packages by the programs of which one is enough. */
const packages = {
  curl: ['curl'],
  'redis-server': ['redis-server'],
  nginx: ['nginx'],
  caddy: ['caddy'],
  initdb: ['postgresql'],
  'chromium chromium-browser google-chrome': ['chromium', 'fonts-dejavu-core'],
}
const missing = Object.entries(packages)
  .filter(([names]) => !names.split(' ').some(isFound))
  .flatMap(([, list]) => list)
  .filter((name) => !(process.env.CHROMIUM && /^chromium|^fonts/.test(name)))
/** Installed packages must not start their services. */
const policy = '/usr/sbin/policy-rc.d'

if (missing.length > 0) {
  console.log(`missing: ${missing.join(' ')}`)
  const isMade = !existsSync(policy)
  if (isMade) writeFileSync(policy, '#!/bin/sh\nexit 101\n', { mode: 0o755 })
  const options = ['-y', '-qq', '--no-install-recommends']
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' }
  try {
    execFileSync('apt-get', ['update', '-qq'], { stdio: 'inherit' })
    execFileSync('apt-get', ['install', ...options, ...missing], { stdio: 'inherit', env })
  } finally {
    if (isMade) rmSync(policy)
  }
}
