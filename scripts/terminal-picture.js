// Draws docs/images/command-line.svg: a real session of the command line, in a real terminal (tmux), as text.
//
//   npm run build && node scripts/terminal-picture.js
import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('../', import.meta.url))
const width = 96
const prompt = '$'

const session = [
  'cat .env',
  'npx fastify-authn doctor --env .env',
  'npx fastify-authn secret > .env',
  'npx fastify-authn doctor --env .env',
  'npx fastify-authn token --sub alice --expires 15m --env .env > token',
  'npx fastify-authn inspect --env .env < token',
]

const home = mkdtempSync(path.join(tmpdir(), 'fastify-authn-picture-'))
const tmux = (...words) =>
  execFileSync('tmux', ['-S', path.join(home, 'socket'), ...words], { encoding: 'utf8' })

try {
  prepare()
  const lines = await record()
  writeFileSync(path.join(root, 'docs/images/command-line.svg'), draw(lines))
  console.log(lines.join('\n'))
} finally {
  try {
    tmux('kill-server')
  } catch {
    // It has not started.
  }
  rmSync(home, { recursive: true, force: true })
}

/** A project that has the package, and a configuration with faults. */
function prepare() {
  const modules = path.join(home, 'app/node_modules')
  mkdirSync(path.join(modules, '.bin'), { recursive: true })
  symlinkSync(root, path.join(modules, 'fastify-authn'))
  symlinkSync(
    '../fastify-authn/dist/bin/fastify-authn.js',
    path.join(modules, '.bin/fastify-authn'),
  )
  writeFileSync(path.join(home, 'app/package.json'), '{}')
  writeFileSync(
    path.join(home, 'app/.env'),
    'AUTH_JWT_SECRET=correct-horse-battery\nAUTH_JWT_EXPIRY=15m\nAUTH_JWT_RSA_PRIVTE=keys/rsa.pem\n',
    { mode: 0o600 },
  )
}

async function record() {
  const shell = ['env', '-i', `PATH=${process.env.PATH}`, `HOME=${home}`, 'TERM=screen']
  const npm = ['npm_config_loglevel=error', 'npm_config_update_notifier=false']
  const settings = ['NODE_ENV=production', ...npm, `PS1=${prompt} `]
  const place = ['-x', String(width), '-y', '60', '-c', path.join(home, 'app')]
  tmux('-f', '/dev/null', 'new-session', '-d', ...place, ...shell, ...settings, 'sh')
  tmux('send-keys', 'umask 077; clear', 'Enter')
  await prompted()
  tmux('clear-history')
  for (const line of session) {
    tmux('send-keys', '-l', line)
    tmux('send-keys', 'Enter')
    await prompted()
  }
  // Without the last prompt.
  return screen().slice(0, -1)
}

function screen() {
  return tmux('capture-pane', '-p').trimEnd().split('\n')
}

/** Until the shell waits for the next line. */
async function prompted() {
  await sleep(300)
  for (let attempt = 0; attempt < 200; attempt++) {
    if (screen().at(-1).trimEnd() === prompt) return
    await sleep(100)
  }
  throw new Error(`no prompt:\n${screen().join('\n')}`)
}

function draw(lines) {
  const [column, row, margin] = [8, 18, 16]
  const size = [width * column + 2 * margin, lines.length * row + 2 * margin]
  const rows = lines.map((line, index) => {
    const kind = line.startsWith(`${prompt} `) ? ' class="typed"' : ''
    const place = `x="${margin}" y="${margin + index * row + 13}"`
    // The length keeps the columns in line, whatever font there is.
    const length = `textLength="${line.length * column}" lengthAdjust="spacingAndGlyphs"`
    return line === '' ? '' : `  <text${kind} ${place} ${length}>${escape(line)}</text>\n`
  })
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${size.join(' ')}" width="${size[0]}" height="${size[1]}" role="img" aria-label="A terminal session of npx fastify-authn">
  <style>
    text { font: 13px ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", monospace; fill: #c9d1d9; white-space: pre }
    .typed { fill: #ffffff; font-weight: bold }
  </style>
  <rect width="100%" height="100%" rx="8" fill="#161b22"/>
${rows.join('')}</svg>
`
}

function escape(text) {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
}
