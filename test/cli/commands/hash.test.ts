import bcrypt from 'bcrypt'
import t from 'tap'
import { cli, piped } from '../../helpers/cli.js'

t.test('a password that is piped in is hashed', async (t) => {
  const { exit, stdout, stderr } = await cli('hash --cost 4', { stdin: piped('open sesame\n') })
  t.equal(exit, 0)
  t.equal(stderr, '')
  t.match(stdout, /^\$2b\$04\$[./\w]{53}\n$/)
  t.ok(await bcrypt.compare('open sesame', stdout.trim()))
})

t.test('--json prints the hash with the default cost of 10', async (t) => {
  const { stdout } = await cli('hash --json', { stdin: piped('open sesame') })
  const { hash, ...rest } = JSON.parse(stdout) as { hash: string }
  t.strictSame(rest, { ok: true, algorithm: 'bcrypt', cost: 10 })
  t.match(hash, /^\$2b\$10\$/)
})

t.test('a password that is empty or over 72 bytes is rejected', async (t) => {
  const cases: [Parameters<typeof piped>[0], RegExp][] = [
    ['', /empty/],
    ['\n', /empty/],
    ['x'.repeat(73), /73 bytes, expected 72/],
    ['ä'.repeat(37), /74 bytes, expected 72/],
  ]
  for (const [password, message] of cases) {
    const { exit, stdout, stderr } = await cli('hash --cost 4', { stdin: piped(password) })
    t.strictSame([exit, stdout], [1, ''])
    t.match(stderr, message)
  }
  t.equal((await cli('hash --cost 4', { stdin: piped('x'.repeat(72)) })).exit, 0)
})

t.test('a password on the command line is rejected, and not repeated', async (t) => {
  for (const words of ['hunter2', '--hunter2', '-phunter2', '--password=hunter2', '-- hunter2']) {
    const { exit, stdout, stderr } = await cli(`hash --cost 4 ${words}`, { stdin: piped('x') })
    t.strictSame([exit, stdout], [2, ''])
    t.notMatch(stderr, 'hunter2', words)
    t.match(stderr, /does not belong on the command line/)
  }
})

t.test('a cost outside 4 to 31 exits with 2', async (t) => {
  for (const cost of ['3', '32', '4.5', 'x', '1e1', '010', 'hunter2']) {
    const { exit, stdout, stderr } = await cli(`hash --cost ${cost}`, { stdin: piped('x') })
    t.strictSame([exit, stdout], [2, ''], cost)
    t.match(stderr, /^fastify-authn: option --cost <n>: expected a whole number from 4 to 31\.\n/)
  }
})

t.test('--algorithm hashes with argon2id or scrypt, and its parameters', async (t) => {
  const stdin = (): ReturnType<typeof piped> => piped('x'.repeat(100))
  const words = 'hash --json --algorithm argon2id --memory 1024 --passes 1'
  const { hash, ...rest } = JSON.parse((await cli(words, { stdin: stdin() })).stdout) as Fields
  t.match(hash, /^\$argon2id\$v=19\$m=1024,t=1,p=1\$/)
  t.strictSame(rest, { ok: true, algorithm: 'argon2id', memory: 1024, passes: 1, parallelism: 1 })
  const scrypt = await cli('hash --algorithm scrypt --cost 10 --block-size 4', { stdin: stdin() })
  t.match(scrypt.stdout, /^\$scrypt\$ln=10,r=4,p=1\$/)
  for (const wrong of ['--memory 1024', '--algorithm scrypt --cost 9', '--algorithm md5']) {
    t.equal((await cli(`hash ${wrong}`, { stdin: stdin() })).exit, 2, wrong)
  }
})

type Fields = Record<string, unknown>
