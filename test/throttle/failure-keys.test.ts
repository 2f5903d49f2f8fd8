import t from 'tap'
import { clientKeys, suspect } from '../../lib/throttle/client-key.js'

t.test('IPv6: an address is 64 bits, its network is 48', async (t) => {
  const keys = { address: '2001:db8:1:2::/64', network: '2001:db8:1::/48' }
  t.strictSame(clientKeys('2001:db8:1:2:3:4:5:6'), keys)
  t.strictSame(clientKeys('[2001:0DB8:1:2::9]:443'), keys, 'as proxies write it')
})

t.test('IPv4 has no network, in whichever form', async (t) => {
  for (const ip of ['192.0.2.1', '::ffff:192.0.2.1', '192.0.2.1:443']) {
    t.strictSame(clientKeys(ip), { address: '192.0.2.1', network: null }, ip)
  }
})

t.test('what is no address has one key together', async (t) => {
  for (const ip of [undefined, '', 'unix:', 'x'.repeat(10_000), '1.2.3.4, 5.6.7.8']) {
    t.strictSame(clientKeys(ip), { address: 'unknown', network: null }, String(ip).slice(0, 20))
  }
})

t.test('a name counts at its address, and cannot be read in its key', async (t) => {
  const alice = suspect('alice', '192.0.2.1')
  t.match(alice, { address: '192.0.2.1', network: null })
  t.notMatch(alice.username, /alice/)
  t.match(alice.username, /^[\w-]{43}@192\.0\.2\.1$/, 'of one length, however long the name')
  t.strictSame(suspect('ALICE', '192.0.2.1'), alice)
  t.not(suspect('bob', '192.0.2.1').username, alice.username)
  t.not(suspect('alice', '192.0.2.2').username, alice.username)
})
