import { Readable } from 'node:stream'
import t from 'tap'
import { askHidden, readSecret } from '../../lib/cli/input.js'
import { cli, FakeTerminal, piped, Written } from '../helpers/cli.js'
import { rejectionOf } from '../helpers/errors.js'
import type { Input, Io } from '../../lib/cli/command.js'

function ioOf(stdin: Input): Io & { stderr: Written; stdout: Written } {
  return { stdin, stdout: new Written(), stderr: new Written() }
}

t.test('a secret that is piped in loses one line break, and a byte order mark', async (t) => {
  const cases = {
    a: 'a',
    'a\n': 'a',
    'a\r\n': 'a',
    'a\n\n': 'a\n',
    ' a ': ' a ',
    '\ufeffa\r\n': 'a',
  }
  for (const [given, expected] of Object.entries(cases)) {
    const io = ioOf(piped(given))
    t.equal(await readSecret(io, 'Password'), expected, JSON.stringify(given))
    t.equal(io.stderr.text, '', 'there is no question')
  }
  const euro = Buffer.from('€')
  t.equal(await readSecret(ioOf(piped(euro.subarray(0, 1), euro.subarray(1))), 'x'), '€')
  const broken = (error: object): Readable =>
    new Readable({
      read() {
        this.destroy(Object.assign(new Error('x'), error))
      },
    })
  for (const [stdin, message] of [
    [piped(Buffer.from([0xff])), 'standard input is not UTF-8.'],
    [broken({ code: 'EISDIR' }), 'standard input cannot be read (EISDIR).'],
    [broken({}), 'standard input cannot be read (unknown reason).'],
  ] as const) {
    t.match(await rejectionOf(readSecret(ioOf(stdin), 'x')), { message, error: { exit: 1 } })
  }
})

t.test('a secret is typed twice and not shown', async (t) => {
  const terminal = new FakeTerminal('open ses', 'ame\r', 'open sesame\r')
  const io = ioOf(terminal)
  t.equal(await readSecret(io, 'Password'), 'open sesame')
  t.equal(io.stderr.text, 'Password: \nOnce more: \n', 'nothing of it is shown')
  t.equal(io.stdout.text, '')
  t.strictSame(terminal.modes, [true, false])
  t.ok(terminal.isPaused(), 'so that the process can end')

  t.equal(await readSecret(ioOf(new FakeTerminal('both\nboth\nand more')), 'x'), 'both', 'pasted')
  const differing = await rejectionOf(readSecret(ioOf(new FakeTerminal('one\rtwo\r')), 'x'))
  t.match(differing, { message: /differ/, error: { exit: 1 } })
})

t.test('Ctrl-C, Ctrl-D or a closed terminal exits with 130', async (t) => {
  for (const [name, terminal] of Object.entries({
    'Ctrl-C': new FakeTerminal('abc\u0003'),
    'Ctrl-D': new FakeTerminal('\u0004'),
    'the terminal goes away': new FakeTerminal('abc', null),
  })) {
    const io = ioOf(terminal)
    const { error } = await rejectionOf(askHidden(io, ['Password: ', 'Once more: ']))
    t.match(error, { exit: 130 }, name)
    t.notMatch(io.stderr.text, 'abc')
    t.strictSame(terminal.modes, [true, false])
  }
  t.match(await cli('hash', { stdin: new FakeTerminal('x\u0003') }), { exit: 130, stdout: '' })
})
