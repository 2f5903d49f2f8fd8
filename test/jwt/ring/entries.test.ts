// Also holds lib/jwt/ring/entry-rules.ts, lib/jwt/ring/place.ts and lib/options/ring-schemas.ts.
import { createHash } from 'node:crypto'
import t from 'tap'
import { checkList, parseRingFile, untilOf } from '../../../lib/jwt/ring/entries.js'
import { reveals, thrownBy } from '../../helpers/errors.js'
import { keys, privatePem, publicPem } from '../../helpers/tokens.js'

const pem = privatePem(keys.p256.privateKey)
const sign = { alg: 'ES256', private: pem, state: 'sign' }
const verify = { alg: 'ES256', public: publicPem(keys.p256.publicKey), state: 'verify' }
const secret = 'q7wT2mVx9KcR4nZs8LpYf3HbJ6dGuA5e'
const shared = { alg: 'HS256', secret, kid: 'shared-2026', state: 'verify' }

/** What stops a list, and the same list in a file. */
function errorsOf(list: unknown): { message: string; error: Error; code: unknown }[] {
  return [
    thrownBy(() => checkList(list)),
    thrownBy(() => parseRingFile(JSON.stringify(list), 'keys/ring.json')),
  ]
}

t.test('a good ring, as it stands there', async (t) => {
  const until = '2027-01-01T00:10:00Z'
  const ring = [
    { ...sign, since: '2026-11-22T06:00:00+01:00' },
    { ...verify, kid: 'k1', until },
    { ...sign, private: 'next.pem', state: 'next' },
    { ...shared, legacy: true },
    { ...shared, kid: 'other', legacy: false, alg: 'HS512' },
  ]
  t.same(checkList(ring), ring)
  t.same(parseRingFile(`\ufeff${JSON.stringify(ring)}`, 'ring.json'), ring)
  t.strictSame(checkList(ring).map(untilOf), [
    Infinity,
    Date.parse(until),
    Infinity,
    Infinity,
    Infinity,
  ])
  t.same(checkList([{ ...sign, passphrase: 'x' }]), [{ ...sign, passphrase: 'x' }])
  const bytes = { ...shared, secret: Buffer.from(secret) }
  t.same(checkList([bytes])[0]?.secret, bytes.secret)
  const named = [{ ...sign, passphraseEnv: 'RING_PASSPHRASE' }]
  t.same(parseRingFile(JSON.stringify(named), 'ring.json'), named)
})

t.test('what one entry must not be', async (t) => {
  const cases: [string, unknown, RegExp][] = [
    ['no object', 'ES256', /"jwt\.keys\[1\]".*: found a string.*an object with alg, state/],
    ['null', null, /"jwt\.keys\[1\]".*: found null/],
    ['an array', [], /"jwt\.keys\[1\]".*: found an array of 0/],
    [
      'unknown algorithm',
      { ...verify, alg: 'none' },
      /\.alg".*: found "none", expected one of HS256/,
    ],
    ['no algorithm', { ...verify, alg: undefined }, /\.alg".*: found nothing/],
    [
      'unknown state',
      { ...verify, state: 'old' },
      /\.state".*: found "old", expected next, sign or/,
    ],
    ['no state', { ...verify, state: undefined }, /\.state".*: found nothing/],
    [
      'unknown member',
      { ...verify, use: 'sig' },
      /unknown option "jwt\.keys\[1\]\.use".*\. Known here: alg/,
    ],
    ['jku', { ...verify, jku: 'https://x' }, /unknown option "jwt\.keys\[1\]\.jku"/],
    ['no key', { ...verify, public: undefined }, /found none of them, expected one of private/],
    ['two keys', { ...verify, private: pem }, /found private and public, expected one of/],
    ['empty kid', { ...verify, kid: '' }, /\.kid".*: found an empty string, expected a text of 1/],
    ['kid of a number', { ...verify, kid: 1 }, /\.kid".*: found 1, expected a text/],
    ['kid with a line feed', { ...verify, kid: 'a\nb' }, /\.kid".*without control characters/],
    ['long kid', { ...verify, kid: 'k'.repeat(257) }, /\.kid".*1 to 256 characters/],
    ['pair for HMAC', { ...verify, alg: 'HS256' }, /\.secret".*: is missing, but HS256 takes/],
    ['secret for a pair', { ...shared, alg: 'ES256' }, /\.secret".*found a secret, but ES256/],
    ['secret without kid', { ...shared, kid: undefined }, /\.kid".*: is missing.*a secret/],
    ['empty secret', { ...shared, secret: '' }, /\.secret".*an empty string/],
    ['public key that signs', { ...verify, state: 'sign' }, /\.private".*: is missing.*state sign/],
    ['public key that is next', { ...verify, state: 'next' }, /\.private".*state next has to sign/],
    ['until of next', { ...sign, state: 'next', until: '2027-01-01T00:00:00Z' }, /\.until".*next/],
    ['until of sign', { ...sign, state: 'sign', until: '2027-01-01T00:00:00Z' }, /\.until".*sign/],
    ['until without zone', { ...verify, until: '2027-01-01T00:00:00' }, /\.until".*with a zone/],
    ['until as a number', { ...verify, until: 1 }, /\.until".*found 1, expected a time/],
    ['30 February', { ...verify, until: '2027-02-30T00:00:00Z' }, /\.until".*"2027-02-30T00:00/],
    ['bad since', { ...verify, since: 'yesterday' }, /\.since".*"yesterday", expected ISO 8601/],
    ['legacy as text', { ...verify, legacy: 'yes' }, /\.legacy".*expected true or false/],
  ]
  for (const [title, entry, message] of cases) {
    const errors = errorsOf([{ ...sign, kid: 'first' }, entry])
    for (const { error, code } of errors) {
      t.match(error.message, message, title)
      t.equal(code, 'ERR_AUTH_OPTION')
      t.notOk(reveals(error, secret) || reveals(error, pem), `${title}: nothing secret`)
    }
    t.match(errors[1]?.message, '(ring file "keys/ring.json")', title)
  }
})

t.test('a name that says something about its secret', async (t) => {
  const kid = createHash('sha256').update(secret).digest('hex').slice(0, 12)
  for (const { message } of errorsOf([{ ...shared, kid }])) {
    t.match(message, /\[0\]\.kid".*: it is made of the secret that it names\. Everybody sees it/)
    t.notMatch(message, kid)
  }
})

t.test('a passphrase in a file, and the name of a variable in a list', async (t) => {
  const file = JSON.stringify([{ ...sign, passphrase: 'very secret' }])
  const { message } = thrownBy(() => parseRingFile(file, 'r.json'))
  t.match(message, /jwt\.keys\[0\]\.passphrase" \(ring file "r\.json"\).*passphraseEnv/)
  t.notMatch(message, 'very secret')
  t.match(
    thrownBy(() => checkList([{ ...sign, passphraseEnv: 'X' }])).message,
    /unknown option "jwt\.keys\[0\]\.passphraseEnv"/,
  )
  const bad = JSON.stringify([{ ...sign, passphraseEnv: 'my passphrase!' }])
  const { message: other } = thrownBy(() => parseRingFile(bad, 'r.json'))
  t.match(other, /passphraseEnv".*the name of an environment variable/)
  t.notMatch(other, 'my passphrase')
})

t.test('what two entries must not have in common', async (t) => {
  const cases: [unknown[], RegExp][] = [
    [
      [
        { ...sign, kid: 'k' },
        { ...verify, kid: 'k' },
      ],
      /keys\[1\]".*the same "kid" as jwt\.keys\[0\]/,
    ],
    [[sign, { ...verify, kid: 'a' }, sign], /keys\[2\]".*signs with ES256.* as jwt\.keys\[0\]/],
    [
      [
        { ...verify, legacy: true },
        { ...sign, legacy: true },
      ],
      /keys\[1\]".*legacy: true for ES256.* as jwt\.keys\[0\]/,
    ],
  ]
  for (const [list, message] of cases) {
    for (const error of errorsOf(list)) t.match(error.message, message)
  }
  const names = ['__proto__', 'constructor', 'toString'].map((kid) => ({ ...verify, kid }))
  t.equal(checkList(names).length, 3)
})

t.test('what is no ring', async (t) => {
  for (const list of [[], {}, 'x', null, 1, Array.from({ length: 101 }, () => verify)]) {
    for (const { message } of errorsOf(list))
      t.match(message, /"jwt\.keys".*array of 1 to 100 keys/)
  }
  for (const text of ['', '[', `[{"secret": ${secret}}]`, '[1,]', '\u0000']) {
    const { message, error } = thrownBy(() => parseRingFile(text, 'r.json'))
    t.match(message, /"jwt\.keys" \(ring file "r\.json"\): it is no JSON/)
    t.notOk(reveals(error, secret))
  }
})

t.test('a polluted Object.prototype adds nothing', async (t) => {
  const prototype = Object.prototype as { legacy?: unknown }
  prototype.legacy = true
  t.teardown(() => delete prototype.legacy)
  t.equal(checkList([sign])[0]?.legacy, undefined)
  t.throws(() => parseRingFile('[{"__proto__": {"alg": "ES256"}}]', 'r.json'), {
    code: 'ERR_AUTH_OPTION',
  })
})
