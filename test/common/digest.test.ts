import crypto from 'node:crypto'
import t from 'tap'
import { digestOf } from '../../lib/common/digest.js'

t.test('digestOf() is SHA-256, also where Node.js has no crypto.hash()', async (t) => {
  // FIPS 180-2, appendix B.1
  const expected = Buffer.from(
    'ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad',
    'hex',
  ).toString('base64url')
  for (const data of ['abc', Buffer.from('abc')]) t.equal(digestOf(data), expected)
  t.intercept(crypto, 'hash', { value: undefined })
  for (const data of ['abc', Buffer.from('abc')]) t.equal(digestOf(data), expected)
})
