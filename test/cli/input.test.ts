import { Readable } from 'node:stream'
import t from 'tap'
import { askHidden, readAll, readSecret } from '../../lib/cli/input.js'
import { FakeTerminal, piped, Written } from '../helpers/cli.js'
import { rejectionOf } from '../helpers/errors.js'
import type { Input, Io } from '../../lib/cli/command.js'

function ioOf(stdin: Input): Io & { stderr: Written; stdout: Written } {
  return { stdin, stdout: new Written(), stderr: new Written(), env: {} }
}

t.test('standard input', async (t) => {
  t.equal(await readAll(piped('a', 'b\n')), 'ab\n')
  const euro = Buffer.from('€')
  t.equal(await readAll(piped(euro.subarray(0, 1), euro.subarray(1))), '€', 'cut in a letter')
  t.equal((await readAll(piped('x'.repeat(1_048_576)))).length, 1_048_576)
  const wrong: [Input, string][] = [
    [piped('x'.repeat(1_048_577)), 'standard input is longer than 1 MiB.'],
    [piped(Buffer.from([0xff])), 'standard input is no UTF-8.'],
  ]
  for (const [stdin, message] of wrong) {
    t.match(await rejectionOf(readAll(stdin)), { message, error: { exit: 1 } })
  }
  for (const [fault, reason] of [
    [Object.assign(new Error('x'), { code: 'EISDIR' }), 'EISDIR'],
    [new Error('x'), 'unknown reason'],
  ] as const) {
    const broken = new Readable({
      read() {
        this.destroy(fault)
      },
    })
    t.match(await rejectionOf(readAll(broken)), {
      message: `standard input cannot be read (${reason}).`,
    })
  }
})

t.test('a secret that is piped in loses one line break, and a byte order mark', async (t) => {
  const cases = {
    a: 'a',
    'a\n': 'a',
    'a\r\n': 'a',
    'a\n\n': 'a\n',
    ' a ': ' a ',
    '': '',
    '\ufeffa\r\n': 'a',
    'a\ufeff': 'a\ufeff',
  }
  for (const [given, expected] of Object.entries(cases)) {
    const io = ioOf(piped(given))
    t.equal(await readSecret(io, 'Password'), expected, JSON.stringify(given))
    t.equal(io.stderr.text, '', 'nobody is asked')
  }
})

t.test('a secret that is typed', async (t) => {
  const terminal = new FakeTerminal('open ses', 'ame\r', 'open sesame\r')
  const io = ioOf(terminal)
  t.equal(await readSecret(io, 'Password'), 'open sesame')
  t.equal(io.stderr.text, 'Password: \nOnce more: \n', 'nothing of it is shown')
  t.equal(io.stdout.text, '')
  t.strictSame(terminal.modes, [true, false])
  t.ok(terminal.isPaused(), 'so that the process can end')

  t.equal(await readSecret(ioOf(new FakeTerminal('both\nboth\nand more')), 'x'), 'both', 'pasted')
  const differing = new FakeTerminal('one\rtwo\r')
  t.match(await rejectionOf(readSecret(ioOf(differing), 'Password')), {
    message: 'the two differ. Nothing was done.',
    error: { exit: 1 },
  })
  t.strictSame(differing.modes, [true, false])
})

t.test('the keys of a terminal', async (t) => {
  const euro = Buffer.from('€')
  const cases: [keys: (string | Buffer)[], answer: string][] = [
    [['abc\u007f\b', 'd\r'], 'ad'],
    [['\u007f\u007fa\r'], 'a'],
    [['abc\u0015d\r'], 'd'],
    [['é😀\u007f\r'], 'é'],
    [[euro.subarray(0, 2), euro.subarray(2), '\r'], '€'],
    [['a\u001b[1;5C\u001bOPb\r'], 'ab'],
    [['ab', '\u001b[D', 'c', '\r'], 'acb'],
    [['a\u0000', '\t', 'b\u0004\r'], 'ab'],
    [['x'.repeat(8000), '\r'], 'x'.repeat(8000)],
    [['\r'], ''],
  ]
  for (const [keys, answer] of cases) {
    const terminal = new FakeTerminal(...keys)
    t.strictSame(await askHidden(ioOf(terminal), ['?']), [answer], JSON.stringify(keys))
    t.strictSame(terminal.modes, [true, false])
  }
})

t.test('to leave a question', async (t) => {
  for (const [name, terminal] of Object.entries({
    'Ctrl-C': new FakeTerminal('abc\u0003'),
    'Ctrl-D': new FakeTerminal('\u0004'),
    'the terminal goes away': new FakeTerminal('abc', null),
  })) {
    const io = ioOf(terminal)
    const { error, message } = await rejectionOf(askHidden(io, ['Password: ', 'Once more: ']))
    t.match(error, { exit: 130 }, name)
    t.equal(message, 'cancelled.')
    t.match(io.stderr.text, /^Password: \n(?:Once more: \n)?$/)
    t.strictSame(terminal.modes, [true, false])
  }
  const broken = new FakeTerminal()
  const asked = rejectionOf(askHidden(ioOf(broken), ['?']))
  broken.emit('error', new Error('EIO'))
  t.match((await asked).error, { exit: 130 })
})

t.test('a terminal without raw mode', async (t) => {
  const { isTTY } = new FakeTerminal()
  const stdin = Object.assign(new Readable({ read: () => undefined }), { isTTY })
  stdin.push('a\na\n')
  t.equal(await readSecret(ioOf(stdin), 'Password'), 'a')
})
