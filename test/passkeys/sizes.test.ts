// What a client may send for a passkey: as much as authenticators send, and nothing that is decoded item by item.
import { webcrypto } from 'node:crypto'
import t from 'tap'
import { answerOf } from '../helpers/accounts.js'
import {
  assertionOf,
  attestationOf,
  base64url,
  cbor,
  coseOf,
  credentialOf,
  type Changes,
  type Credential,
} from '../helpers/authenticator.js'
import { browser, passkeysApp, type PasskeysApp } from '../helpers/passkeys.js'

const invalid = '403 ERR_AUTH_PASSKEY_INVALID'
const empty = Buffer.alloc(0)

/** An array of empty texts, which takes one byte for each. */
const items = (count: number): Buffer =>
  Buffer.concat([Buffer.from([0x99, count >> 8, count & 255]), Buffer.alloc(count, 0x60)])
const extensions = (value: Buffer): Buffer =>
  Buffer.concat([Buffer.from([0xa1, 0x61, 0x78]), value])

async function add({ ask, post, logIn }: PasskeysApp, credential: Credential, changes: Changes) {
  const headers = await logIn()
  const { token, publicKey } = await ask('/passkeys/options', headers)
  const response = attestationOf(credential, publicKey.challenge, changes)
  return answerOf(await post('/passkeys', { token, response }, headers)).slice(0, 28)
}

async function enter({ ask, post }: PasskeysApp, credential: Credential, changes: Changes) {
  const { token, publicKey } = await ask('/login/passkey/options')
  const response = assertionOf(credential, publicKey.challenge, changes)
  return answerOf(await post('/login/passkey', { token, response }))
}

t.test('extensions, keys and attestations of many items or bytes are not accepted', async (t) => {
  const app = await passkeysApp(t, { most: 100 })
  const credential = credentialOf(1)
  t.match(await add(app, credential, {}), /^201/)
  const bad: Record<string, Changes> = {
    '120 items': { extensions: extensions(items(120)) },
    '10,700 items': { extensions: extensions(items(10_700)) },
    'arrays in arrays': { extensions: extensions(Buffer.alloc(300, 0x81)) },
    'an array of 2^32 - 1 items': { extensions: extensions(Buffer.from('9affffffff60', 'hex')) },
    '700 bytes': { extensions: extensions(cbor(Buffer.alloc(700))) },
    'a text of 2^48 bytes': { extensions: extensions(Buffer.from('7b0001000000000000', 'hex')) },
    'an array without an end': { extensions: extensions(Buffer.from('9f60ff', 'hex')) },
    'too few bytes': { extensions: extensions(Buffer.from('5820', 'hex')) },
    none: { extensions: empty },
    'long client data': { client: { more: 'x'.repeat(2000) } },
  }
  for (const [name, changes] of Object.entries(bad)) {
    t.equal(await enter(app, credential, changes), invalid, `log-in: ${name}`)
    t.equal(await add(app, credentialOf(1), changes), invalid, `new passkey: ${name}`)
  }
  const key = (more: Buffer): Changes => {
    const other = credentialOf(1)
    const whole = coseOf(other)
    const head = Buffer.from([0xa6])
    const coseKey = Buffer.concat([head, whole.subarray(1), Buffer.from([0x18, 100]), more])
    return { coseKey }
  }
  t.equal(await add(app, credentialOf(1), key(items(200))), invalid, 'a key of many items')
  t.equal(await add(app, credentialOf(1), key(cbor(Buffer.alloc(600)))), invalid, 'a long key')
  t.equal(await add(app, credentialOf(1), { attestation: ['tpm', items(5000)] }), invalid)
  const long = { response: { authenticatorData: base64url(Buffer.alloc(1100)) } }
  t.equal(await enter(app, credential, long), invalid)
  const signature = { response: { signature: base64url(Buffer.alloc(1100)) } }
  t.equal(await enter(app, credential, signature), invalid)
  const short = { extensions: extensions(cbor(Buffer.alloc(80))) }
  t.equal(await enter(app, credential, short), '200 tokens', 'as hmac-secret has it')
  t.match(await add(app, credentialOf(1), short), /^201/)
  t.equal(app.table.length, 2)
})

t.test('an attestation that was not asked for is ignored, but the rest is verified', async (t) => {
  const app = await passkeysApp(t, { most: 100 })
  const statement = cbor(
    new Map<string, never>([
      ['alg', -7 as never],
      ['sig', Buffer.alloc(70, 1) as never],
      ['x5c', [Buffer.alloc(900, 48), Buffer.alloc(900, 48)] as never],
    ]),
  )
  const formats = ['', ...'tpm fido-u2f apple android-key android-safetynet new none'.split(' ')]
  for (const format of formats) {
    for (const content of [statement, cbor(7), cbor('x')]) {
      const attestation = [format, content] as const
      const credential = credentialOf(1)
      t.match(await add(app, credential, { attestation }), /^201/, format)
      t.equal(await enter(app, credential, {}), '200 tokens')
      const wrong = { attestation, client: { origin: 'https://evil.example' } }
      t.equal(await add(app, credentialOf(1), wrong), invalid)
      t.equal(await add(app, credentialOf(1), { attestation, flags: 65 }), invalid, 'no user')
      t.equal(await add(app, { ...credentialOf(1), alg: -35 }, { attestation }), invalid)
    }
  }
  const packed = [
    'packed',
    Buffer.concat([Buffer.from([0xa1, 0x63]), Buffer.from('sig'), cbor(Buffer.alloc(3000))]),
  ] as const
  t.match(await add(app, credentialOf(1), { attestation: packed }), /^201/, 'too long to be read')
})

t.test('transports are hints, of which what is unusable is left out', async (t) => {
  const app = await passkeysApp(t, { most: 100 })
  const headers = await app.logIn()
  for (const [sent, stored] of [
    [undefined, []],
    [null, []],
    ['usb', []],
    [{}, []],
    [['', 'internal'], ['internal']],
    [[null, 7, 'a b', 'x'.repeat(33), 'ultrasound'], ['ultrasound']],
    [Array(500).fill('usb'), Array(10).fill('usb')],
  ] as const) {
    const { token, publicKey } = await app.ask('/passkeys/options', headers)
    const changes = { response: { transports: sent } }
    const response = attestationOf(credentialOf(1), publicKey.challenge, changes)
    t.equal((await app.post('/passkeys', { token, response }, headers)).statusCode, 201)
    t.strictSame(app.table.at(-1)?.data.transports, stored, JSON.stringify(sent)?.slice(0, 60))
  }
})

t.test('a response is verified once, also where others change the passkey', async (t) => {
  let verified = 0
  const { subtle } = webcrypto
  const verify = subtle.verify.bind(subtle)
  t.intercept(subtle, 'verify', {
    value: (...given: Parameters<typeof verify>) => {
      verified += 1
      return verify(...given)
    },
  })
  let lost = 0
  const setting = await passkeysApp(t)
  const passkey = browser()
  await setting.add(passkey, await setting.logIn())
  const row = setting.table[0] as (typeof setting.table)[0]
  const other = await passkeysApp(t, {
    list: () => [row.data],
    update(_user, after) {
      if (lost > 0) return (lost -= 1) < 0
      row.data = after
      return true
    },
  })
  lost = 4
  t.equal(answerOf(await other.enter(passkey)), '200 tokens')
  t.equal(verified, 1)
})
