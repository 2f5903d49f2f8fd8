import t from 'tap'
import { resolveOptions } from '../../lib/options/resolve.js'
import { clientOf, Throttle, type FailureKeys } from '../../lib/throttle/throttle.js'

const { throttle: settings } = resolveOptions({})
const throttle = new Throttle(settings as Exclude<typeof settings, false>, null)
const failureKeys = (name: string, ip: string | undefined): FailureKeys => throttle.keysOf(name, ip)
const networksOf = (ip: string | undefined): string[] =>
  failureKeys('alice', ip).address.map((key) => key.replace('address:', ''))

t.test('an IPv4 address has one key, an IPv6 address one for each of its networks', async (t) => {
  const rows: [ip: string | undefined, expected: string][] = [
    ['192.0.2.1', '192.0.2.1'],
    ['::FFFF:C000:0201', '192.0.2.1'],
    ['192.0.2.1:50123', '192.0.2.1'],
    ['64:ff9b::192.0.2.1', '192.0.2.1'],
    ['[64:FF9B::c000:201]:50123', '192.0.2.1'],
    ['2001:DB8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
    ['2001:0db8:0001:0002:ffff:ffff:ffff:ffff', '2001:db8:1:2::/64'],
    ['2001:db8:1:3::1', '2001:db8:1:3::/64'],
    ['fe80::1%eth0', 'fe80:0:0:0::/64'],
    ['[2001:db8::1]:50123', '2001:db8:0:0::/64'],
    [undefined, 'unknown'],
    ['', 'unknown'],
    ['proxy-7', 'unknown'],
    ['1.2.3.4, 5.6.7.8', 'unknown'],
    ['x'.repeat(10_000), 'unknown'],
    [`fe80::1%${'x'.repeat(10_000)}`, 'unknown'],
  ]
  for (const [ip, expected] of rows) {
    t.equal(networksOf(ip)[0], expected, String(ip).slice(0, 40))
    const client = expected.includes('::/64') ? /^[\da-f]+:[\da-f]+:[\da-f]+::\/48$/ : expected
    t.match(clientOf(ip), client, `the client of ${String(ip).slice(0, 40)}`)
  }
  t.strictSame(networksOf('2001:db8:1:1234::1'), [
    '2001:db8:1:1234::/64',
    '2001:db8:1:1200::/56',
    '2001:db8:1::/48',
  ])
  t.notMatch(networksOf('64:ff9b:1::192.0.2.1'), ['192.0.2.1'], 'not of the well-known prefix')
  t.equal(clientOf('2001:db8:1:2::1'), clientOf('2001:db8:1:ffff::1'), 'a /48 is one client')
  t.not(clientOf('2001:db8:1:2::1'), clientOf('2001:db8:2:2::1'))
})

t.test('spellings of a name that databases take for one have one key', async (t) => {
  const keyOf = (name: string): string => String(failureKeys(name, '192.0.2.1').username)
  for (const name of [
    'Alice',
    ' ALICE',
    'alice ',
    'ａｌｉｃｅ',
    '\u00a0alice',
    'álicé',
    'al\u00adice',
    'alıce',
    // Of 1,024 bytes, the longest that a user service gets.
    `alice${' '.repeat(1019)}`,
    `alice${'\u0301'.repeat(509)}`,
  ]) {
    t.equal(keyOf(name), keyOf('alice'), name)
  }
  for (const name of ['alicе', 'al ice', 'alice@192.0.2.2']) t.not(keyOf(name), keyOf('alice'))
})

t.test('the key of a name contains its address, and the name cannot be read in it', async (t) => {
  const { username, address } = failureKeys('alice', '192.0.2.1')
  t.match(String(username), /^user:[\w-]{43}@192\.0\.2\.1$/)
  t.strictSame(address, ['address:192.0.2.1'])
  t.strictNotSame(failureKeys('alice', '192.0.2.2').username, username)
})
