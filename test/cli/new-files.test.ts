import { chmodSync, readdirSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import t from 'tap'
import { openFolder, writeNewFiles, type NewFile } from '../../lib/cli/new-files.js'
import { rejectionOf } from '../helpers/errors.js'

const file = (name: string, text = 'text'): NewFile => ({ file: name, text, mode: 0o600 })

t.test('all or none: folders that were made go, others stay', async (t) => {
  const root = t.testdir({ there: { mine: 'x' } })
  const at = (name: string): string => path.join(root, name)
  const { error, message } = await rejectionOf(
    writeNewFiles([
      file(at('new/deep/er/a')),
      file(at('there/b')),
      file(at('there/new/c')),
      file(at('there/mine')),
    ]),
  )
  t.match(error, { exit: 1, remedy: /--out/ })
  t.equal(message, `${JSON.stringify(at('there/mine'))} is there already. Nothing was written.`)
  t.strictSame([readdirSync(root), readdirSync(at('there'))], [['there'], ['mine']])
})

t.test('a write that fails leaves nothing behind', async (t) => {
  const root = t.testdir()
  const unwritable = { file: path.join(root, 'a'), mode: 0o600, text: 5 as unknown as string }
  t.match(await rejectionOf(writeNewFiles([unwritable])), {
    message: /"[^"]*a" cannot be written \(ERR_INVALID_ARG_TYPE\)\./,
    error: { remedy: undefined },
  })
  t.strictSame(readdirSync(root), [])
})

t.test('what others have put into a new folder meanwhile stays', async (t) => {
  const root = t.testdir({ taken: 'x' })
  const inside = path.join(root, 'new')
  const last = Object.defineProperty(file(path.join(root, 'taken')), 'mode', {
    get() {
      t.strictSame(readdirSync(inside), ['a'])
      writeFileSync(path.join(inside, 'theirs'), 'x')
      return 0o600
    },
  })
  const failed = await rejectionOf(writeNewFiles([file(path.join(inside, 'a')), last]))
  t.match(failed.message, 'is there already')
  t.strictSame(readdirSync(inside), ['theirs'])
})

t.test('several at once in a folder that is not there yet', async (t) => {
  const root = t.testdir()
  const names = ['a', 'b', 'c']
  await Promise.all(names.map((name) => writeNewFiles([file(path.join(root, 'new/deep', name))])))
  t.strictSame(readdirSync(path.join(root, 'new/deep')).toSorted(), names)
})

t.test('where no folder can be made', async (t) => {
  const root = t.testdir({ taken: 'x' })
  t.match(await rejectionOf(writeNewFiles([file(path.join(root, 'taken/new/a'))])), {
    message: /cannot be written \((?:ENOTDIR|ENOENT)\)/,
  })
  // Node.js would try for ever.
  const impossible = path.join(process.platform === 'linux' ? '/proc' : root, 'taken', 'new')
  t.match(await rejectionOf(writeNewFiles([file(path.join(impossible, 'a'))])), {
    message: /cannot be written \((?:ENOTDIR|ENOENT)\)/,
  })
})

t.test('folders that everybody may write', async (t) => {
  const root = t.testdir({ 'a b': { inner: {} }, sticky: { inner: {} }, mine: {} })
  const modes: [folder: string, mode: number][] = [
    ['a b', 0o777],
    ['sticky', 0o1777],
    ['mine', 0o755],
  ]
  for (const [folder, mode] of modes) chmodSync(path.join(root, folder), mode)
  const warned = async (folder: string): Promise<string> =>
    (await openFolder(path.join(root, folder))).join('\n')
  t.match(await warned('a b'), /^Warning: everybody may write to the folder ".*a b"/)
  t.match(await warned('a b/inner'), /to the folder ".*a b"/, 'it can be moved, and replaced')
  t.match(await warned('sticky'), /to the folder ".*sticky"/)
  t.equal(await warned('sticky/inner'), '')
  t.equal(await warned('mine'), '')
})
