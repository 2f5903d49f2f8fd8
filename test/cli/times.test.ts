import { inspect } from 'node:util'
import t from 'tap'
import { parseSpan, relative, spanInWords, timeInWords } from '../../lib/cli/times.js'

t.test('spans in words', async (t) => {
  const cases: [number, string][] = [
    [0, 'less than a second'],
    [0.9, 'less than a second'],
    [1, '1 second'],
    [59, '59 seconds'],
    [60, '1 minute'],
    [61, '1 minute 1 second'],
    [3600, '1 hour'],
    [7260, '2 hours 1 minute'],
    [3601, '1 hour'],
    [90_000, '1 day 1 hour'],
    [31_557_600 + 86_400, '1 year 1 day'],
  ]
  for (const [seconds, words] of cases) t.equal(spanInWords(seconds), words)
})

t.test('from now', async (t) => {
  t.equal(relative(1000, 1180), '3 minutes ago')
  t.equal(relative(1180, 1000), 'in 3 minutes')
  t.equal(relative(1000, 1000), 'less than a second ago')
  t.equal(timeInWords(0, 60), '1970-01-01T00:00:00Z, 1 minute ago')
  t.equal(timeInWords(1.5, 60), '1970-01-01T00:00:01.500Z, 58 seconds ago')
  for (const value of ['0', null, undefined, 1e300, -8.65e12, Number.NaN, {}]) {
    t.equal(timeInWords(value, 0), null, inspect(value))
  }
  t.match(timeInWords(8.64e12, 0), /^\+275760-/)
})

t.test('spans as they are typed', async (t) => {
  const cases: [string, number | null][] = [
    ['900', 900],
    ['15m', 900],
    ['1s', 1],
    ['8h', 28_800],
    ['7d', 604_800],
    ['2w', 1_209_600],
    ['2147483647', 2_147_483_647],
    ['2147483648', null],
    ['9999999999w', null],
    ['0', null],
    ['0m', null],
    ['-5', null],
    ['1.5h', null],
    ['15 m', null],
    ['m', null],
    ['', null],
    ['1y', null],
  ]
  for (const [text, seconds] of cases) t.equal(parseSpan(text), seconds, text)
})
