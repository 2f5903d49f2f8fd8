// Runs a command as someone who has nothing but Node and npm: a user without rights, whose HOME cannot be written, and on
// whose PATH there is no server and no browser.
//
//   node scripts/ci/reader.js npm run test:all
import { execFileSync, spawnSync } from 'node:child_process'
import { chmodSync, existsSync, mkdirSync, readdirSync, symlinkSync } from 'node:fs'
import path from 'node:path'

const hidden = /^(?:redis-.*|postgres|initdb|pg_.*|psql|chrom.*|google-chrome.*|nginx|caddy)$/
const [command, ...args] = process.argv.slice(2)
const { WORK: work = '', NODE_EXTRA_CA_CERTS: certificates } = process.env
const isRoot = process.getuid() === 0
const idOf = (option) => Number(execFileSync('id', [option, 'nobody']))
const user = isRoot ? { uid: idOf('-u'), gid: idOf('-g') } : {}
const folders = Object.fromEntries(
  ['path', 'home', 'tmp'].map((name) => [name, path.join(work, name)]),
)

if (!existsSync(folders.path)) prepare()
const { status } = spawnSync(command, args, {
  ...user,
  stdio: 'inherit',
  env: {
    CI: 'true',
    HOME: folders.home,
    PATH: folders.path,
    TMPDIR: folders.tmp,
    ...(certificates && { NODE_EXTRA_CA_CERTS: certificates }),
  },
})
process.exitCode = status ?? 1

function prepare() {
  for (const folder of Object.values(folders)) mkdirSync(folder)
  for (const folder of process.env.PATH.split(path.delimiter).filter((name) => existsSync(name))) {
    for (const name of readdirSync(folder)) {
      const link = path.join(folders.path, name)
      if (!hidden.test(name) && !existsSync(link)) symlinkSync(path.join(folder, name), link)
    }
  }
  chmodSync(folders.tmp, 0o1777)
  chmodSync(folders.home, 0o555)
  if (isRoot) execFileSync('chown', ['-R', 'nobody', '.'])
}
