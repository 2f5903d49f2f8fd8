// Also holds lib/cli/ring/change.ts, lib/cli/ring/keys-of.ts, lib/cli/ring/new-key.ts and lib/cli/ring/write.ts.
import '../../helpers/rsa-stock.js'
import {
  chmodSync,
  chownSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import path from 'node:path'
import t, { type Test } from 'tap'
import { temporaryName, thisMachine, type Machine } from '../../../lib/cli/ring/files.js'
import { createRing, revokeKey, rotateRing } from '../../../lib/cli/ring/ring-file.js'
import { signingMethods } from '../../../lib/common/algorithms.js'
import { rejectionOf } from '../../helpers/errors.js'
import { failing, machineWith } from '../../helpers/machine.js'
import type { KeyFileEntry } from '../../../types/keys.js'

const hasModes = process.platform !== 'win32'
const rotation = { alg: undefined, life: 300, lag: 120, settle: 0 }
const modeOf = (file: string): number => statSync(file).mode & 0o777
const entriesOf = (file: string): KeyFileEntry[] =>
  JSON.parse(readFileSync(file, 'utf8')) as KeyFileEntry[]
const statesOf = (file: string): string[] => entriesOf(file).map(({ state }) => state)
const turn = (file: string, machine: Machine = thisMachine, env = {}) =>
  rotateRing(machine, file, rotation, env)

/** A ring in a folder of its own. */
async function newRing(
  t: Test,
  wanted: Partial<Parameters<typeof createRing>[2]> = {},
  env = {},
): Promise<{ file: string; folder: string }> {
  const folder = t.testdir()
  const file = path.join(folder, 'ring.json')
  await createRing(thisMachine, file, { alg: 'ES256', ...wanted }, env)
  return { file, folder }
}

/** Runs a change that has to fail. It must leave the ring, and nothing beside it. */
async function refused(t: Test, file: string, machine: Machine, message: RegExp): Promise<void> {
  const before = readFileSync(file, 'utf8')
  const names = readdirSync(path.dirname(file))
  const found = await rejectionOf(turn(file, machine))
  t.match(found.error, { exit: 1, message })
  t.equal(readFileSync(file, 'utf8'), before)
  t.strictSame(readdirSync(path.dirname(file)), names)
}

t.test('every algorithm: made, rotated, revoked', async (t) => {
  // The making of RSA keys takes long, and is the same for all six of them.
  const once = signingMethods.filter((alg) => !/^(?:RS[35]|PS[25])/.test(alg))
  for (const alg of once) {
    const bits = /^[RP]S/.test(alg) ? 2048 : undefined
    const { file, folder } = await newRing(t, { alg, bits })
    t.strictSame(statesOf(file), ['sign', 'next'], alg)
    await turn(file)
    t.strictSame(statesOf(file), ['verify', 'sign', 'next'])
    const [, sign, next] = entriesOf(file)
    await revokeKey(thisMachine, file, sign?.kid ?? '', {})
    t.strictSame(statesOf(file), ['verify', 'sign', 'next'])
    t.equal(entriesOf(file)[1]?.kid, next?.kid)
    t.strictSame(readdirSync(folder), ['ring.json'])
    const entries = entriesOf(file)
    t.ok(entries.every((entry) => entry.alg === alg && entry.kid !== undefined))
    for (const { secret } of entries.filter((entry) => entry.secret !== undefined)) {
      t.equal(Buffer.from(secret ?? '', 'base64url').length * 8, Number(alg.slice(2)))
    }
    if (hasModes) t.equal(modeOf(file), 0o600)
  }
})

t.test('a new key of RSA has the size of the one before', async (t) => {
  const { file } = await newRing(t, { alg: 'PS256', bits: 2048 })
  const { made } = await turn(file)
  t.equal(made?.bits, 2048)
})

t.test('to RSA from a secret: the size of the one says nothing of the other', async (t) => {
  const { file } = await newRing(t, { alg: 'HS512' })
  const { made } = await rotateRing(thisMachine, file, { ...rotation, alg: 'RS256' }, {})
  t.equal(made?.bits, 3072)
  t.strictSame(
    entriesOf(file).map(({ alg }) => alg),
    ['HS512', 'HS512', 'RS256'],
  )
})

t.test('the target of a symbolic link is replaced, and the link stays', async (t) => {
  const { file, folder } = await newRing(t)
  const link = path.join(folder, 'link.json')
  mkdirSync(path.join(folder, 'inner'))
  symlinkSync('ring.json', link)
  symlinkSync('../link.json', path.join(folder, 'inner/link.json'))
  await turn(path.join(folder, 'inner/link.json'))
  t.equal(readlinkSync(link), 'ring.json')
  t.ok(lstatSync(file).isFile())
  t.strictSame(statesOf(file), ['verify', 'sign', 'next'])
  t.strictSame(readdirSync(path.join(folder, 'inner')), ['link.json'])
})

t.test(
  'the mode becomes 0600 whatever it was, and whatever the mask',
  { skip: !hasModes },
  async (t) => {
    const before = process.umask(0)
    t.teardown(() => process.umask(before))
    for (const mask of [0, 0o077, 0o777]) {
      process.umask(before)
      const { file } = await newRing(t)
      chmodSync(file, 0o644)
      process.umask(mask)
      await turn(file)
      t.equal(modeOf(file), 0o600)
    }
  },
)

t.test('the owner stays', { skip: process.getuid?.() !== 0 && 'needs root' }, async (t) => {
  const { file } = await newRing(t)
  chownSync(file, 1234, 1235)
  await turn(file)
  const { uid, gid } = statSync(file)
  t.strictSame([uid, gid, modeOf(file)], [1234, 1235, 0o600])
})

t.test('a ring of another user, whom it cannot be given back to', async (t) => {
  const { file } = await newRing(t)
  const stranger = machineWith(
    {
      async open(...words: Parameters<typeof thisMachine.files.open>) {
        const handle = await thisMachine.files.open(...words)
        return Object.assign(handle, { chown: failing('EPERM') })
      },
    },
    { uid: 4321 },
  )
  await refused(t, file, stranger, /cannot be written \(EPERM\)/)
})

t.test('a full disk, a read-only one, and errors of it, at every step', async (t) => {
  const { file } = await newRing(t)
  for (const method of ['writeFile', 'sync', 'chmod'] as const) {
    const broken = machineWith({
      async open(...words: Parameters<typeof thisMachine.files.open>) {
        const handle = await thisMachine.files.open(...words)
        const isRing =
          String(words[0]).startsWith(`${file}.`) && !String(words[0]).includes('.lock')
        return isRing ? Object.assign(handle, { [method]: failing('ENOSPC') }) : handle
      },
    })
    await refused(
      t,
      file,
      broken,
      /the ring file ".*" cannot be written \(ENOSPC\)\. Nothing was changed\./,
    )
  }
  await refused(t, file, machineWith({ rename: failing('EROFS') }), /cannot be written \(EROFS\)/)
  const readOnly = machineWith({
    async open(...words: Parameters<typeof thisMachine.files.open>) {
      return words[1] === 'wx' ? failing('EROFS')() : thisMachine.files.open(...words)
    },
  })
  await refused(t, file, readOnly, /the lock file ".*" cannot be made \(EROFS\)/)
})

t.test('a folder that cannot be synced, or listed', async (t) => {
  const { file } = await newRing(t)
  const windows = machineWith({
    readdir: failing('EACCES'),
    async open(...words: Parameters<typeof thisMachine.files.open>) {
      if (words[1] === 'r') throw Object.assign(new Error('folder'), { code: 'EISDIR' })
      return thisMachine.files.open(...words)
    },
  })
  await turn(file, windows)
  t.strictSame(statesOf(file), ['verify', 'sign', 'next'])
})

t.test('changed meanwhile by what knows no lock, or gone', async (t) => {
  const meddling = (work: (file: string) => void, file: string): Machine =>
    machineWith({
      async readdir(...words: [string]) {
        return thisMachine.files.readdir(...words)
      },
      async open(...words: Parameters<typeof thisMachine.files.open>) {
        // The last moment before the new file takes the place of the old one.
        if (String(words[0]).startsWith(`${file}.`) && !String(words[0]).includes('.lock'))
          work(file)
        return thisMachine.files.open(...words)
      },
    })
  const { file } = await newRing(t)
  const other = readFileSync(file, 'utf8').replace(/\n$/, ' ')
  const changed = await rejectionOf(
    turn(
      file,
      meddling((ring) => writeFileSync(ring, other), file),
    ),
  )
  t.match(changed.message, /was changed meanwhile, by what does not lock it\.$/)
  t.equal(readFileSync(file, 'utf8'), other)
  const broken = await rejectionOf(
    turn(
      file,
      meddling((ring) => writeFileSync(`${ring}.lock`, '{}'), file),
    ),
  )
  t.match(broken.message, 'the lock was broken meanwhile')
  t.equal(readFileSync(file, 'utf8'), other)
  t.strictSame(readdirSync(path.dirname(file)), ['ring.json', 'ring.json.lock'])
})

t.test('what is no ring', async (t) => {
  const { file, folder } = await newRing(t)
  symlinkSync('loop', path.join(folder, 'loop'))
  symlinkSync('nowhere', path.join(folder, 'dangling'))
  mkdirSync(path.join(folder, 'folder'))
  const texts: Record<string, string | Buffer> = {
    'bytes.json': Buffer.from([0x5b, 0xff, 0x5d]),
    'long.json': ' '.repeat(1_048_577),
    'comment.json': `// keys\n${readFileSync(file, 'utf8')}`,
    'unknown.json': JSON.stringify(entriesOf(file).map((entry) => ({ ...entry, note: 'x' }))),
    'empty.json': '',
    'none.json': '[]',
    'bad-key.json': JSON.stringify(
      entriesOf(file).map((entry) => ({
        ...entry,
        private: '-----BEGIN PRIVATE KEY-----\n-----END PRIVATE KEY-----',
      })),
    ),
  }
  for (const [name, text] of Object.entries(texts)) writeFileSync(path.join(folder, name), text)
  const cases: [name: string, message: RegExp][] = [
    ['loop', /the ring file ".*" cannot be read \(ELOOP\)/],
    ['dangling', /there is no ring file/],
    ['nothing', /there is no ring file/],
    ['ring.json/x', /cannot be read \(ENOTDIR\)|there is no/],
    ['folder', /is not a regular file|cannot be read \((?:EISDIR|EPERM)\)/],
    ['bytes.json', /is no UTF-8/],
    ['long.json', /is longer than 1 MiB/],
    ['comment.json', /it is no JSON/],
    ['unknown.json', /unknown option "jwt\.keys\[0\]\.note"/],
    ['empty.json', /it is no JSON/],
    ['none.json', /an array of 0/],
    ['bad-key.json', /jwt\.keys\[0\]/],
  ]
  const names = readdirSync(folder)
  for (const [name, message] of cases) {
    const { message: found } = await rejectionOf(turn(path.join(folder, name)))
    t.match(found, message, name)
    t.notMatch(found, entriesOf(file)[0]?.private?.slice(60, 90))
  }
  t.strictSame(readdirSync(folder), names, 'nothing was written')
})

t.test('temporary files of processes that are gone are removed, and no others', async (t) => {
  const { file, folder } = await newRing(t)
  const gone: Machine = { ...thisMachine, pid: 2_147_483_647 }
  const elsewhere: Machine = { ...gone, host: 'elsewhere' }
  const removed = [
    temporaryName(gone, file),
    temporaryName(gone, `${file}.lock`),
    temporaryName(elsewhere, file),
  ]
  const kept = [
    temporaryName(thisMachine, file),
    temporaryName(elsewhere, file),
    `${file}.tmp`,
    `${file}.1.tmp`,
    path.join(folder, 'ring.json.bak'),
    temporaryName(gone, path.join(folder, 'other.json')),
  ]
  for (const name of [...removed, ...kept]) writeFileSync(name, 'x')
  utimesSync(removed[2] ?? '', 1, 1)
  await turn(file)
  t.strictSame(
    readdirSync(folder),
    ['ring.json', ...kept.map((name) => path.basename(name))].toSorted(),
  )
})

t.test(
  'keys that stand in files of their own, as text without a kid, and with a byte order mark',
  async (t) => {
    const { file, folder } = await newRing(t)
    const [sign, next] = entriesOf(file)
    mkdirSync(path.join(folder, 'pem'))
    writeFileSync(path.join(folder, 'pem/sign.pem'), sign?.private ?? '')
    const { kid: _, ...unnamed } = { ...sign, private: 'pem/sign.pem' }
    writeFileSync(file, `\ufeff${JSON.stringify([unnamed, next])}`)
    const { verifies } = await turn(file)
    t.equal(verifies?.kid, sign?.kid)
    t.match(entriesOf(file)[0], { private: 'pem/sign.pem', state: 'verify' })
    t.notOk('kid' in (entriesOf(file)[0] ?? {}))
  },
)

t.test('encrypted keys: the new one has the same passphrase, or there is none', async (t) => {
  const env = { PHRASE: 'a phrase' }
  const { file } = await newRing(t, { passphraseEnv: 'PHRASE' }, env)
  t.ok(
    entriesOf(file).every(
      (entry) => /ENCRYPTED/.test(entry.private ?? '') && entry.passphraseEnv === 'PHRASE',
    ),
  )
  const before = readFileSync(file, 'utf8')
  t.match(await rejectionOf(turn(file)), { message: /PHRASE.*not set/ })
  t.match(await rejectionOf(turn(file, thisMachine, { PHRASE: 'wrong' })), {
    message: /PHRASE|passphrase/,
  })
  t.equal(readFileSync(file, 'utf8'), before)
  await turn(file, thisMachine, env)
  t.ok(entriesOf(file).every((entry) => /ENCRYPTED/.test(entry.private ?? '')))
  t.notMatch(readFileSync(file, 'utf8'), 'a phrase')
  const toSecret = rotateRing(thisMachine, file, { ...rotation, alg: 'HS256' }, env)
  t.match(await rejectionOf(toSecret), { message: /a secret for HS256 cannot be/ })
  const cases: [phrase: string, message: RegExp][] = [
    ['', /PHRASE, which holds the passphrase, is not set/],
    ['x'.repeat(1025), /PHRASE has 1025 bytes/],
  ]
  for (const [PHRASE, message] of cases) {
    const made = createRing(
      thisMachine,
      path.join(t.testdir(), 'x.json'),
      { alg: 'ES256', passphraseEnv: 'PHRASE' },
      { PHRASE },
    )
    t.match(await rejectionOf(made), { message })
  }
})

t.test('a new ring takes the place of nothing', async (t) => {
  const { file, folder } = await newRing(t)
  symlinkSync('nowhere', path.join(folder, 'dangling'))
  const before = readFileSync(file, 'utf8')
  for (const name of ['ring.json', 'dangling']) {
    const { error } = await rejectionOf(
      createRing(thisMachine, path.join(folder, name), { alg: 'HS256' }, {}),
    )
    t.match(error, { exit: 1, message: /is there already\. Nothing was written\.$/ })
  }
  t.equal(readFileSync(file, 'utf8'), before)
  t.strictSame(readdirSync(folder), ['dangling', 'ring.json'])
  const below = createRing(thisMachine, path.join(file, 'ring.json'), { alg: 'HS256' }, {})
  t.match(await rejectionOf(below), { message: /cannot be written \((?:ENOTDIR|ENOENT|EEXIST)\)/ })
  const fat = machineWith({ link: failing('EPERM') })
  const other = path.join(folder, 'deep/er/other.json')
  await createRing(fat, other, { alg: 'HS256' }, {})
  t.strictSame(statesOf(other), ['sign', 'next'])
  t.match(await rejectionOf(createRing(fat, other, { alg: 'HS256' }, {})), {
    message: /is there already/,
  })
  t.strictSame(readdirSync(path.dirname(other)), ['other.json'])
})
