import { hashSync as hashArgon2, verify as verifyArgon2 } from '@node-rs/argon2'
import bcryptPackage from 'bcrypt'
import { scryptSync } from 'node:crypto'
import * as fc from 'fast-check'
import t from 'tap'
import { hashPassword, needsRehash, verifyPassword, type HashParameters } from '../../lib/index.js'
import { kinds } from '../../lib/passwords/hashing.js'
import { rejectionOf, thrownBy } from '../helpers/errors.js'

/** RFC 7914 §12 has a key of 64 bytes for the password `pleaseletmein` and the salt `SodiumChloride`. */
const rfc7914 = `$scrypt$ln=14,r=8,p=1$${bare(Buffer.from('SodiumChloride'))}$${bare(
  Buffer.from(
    '7023bdcb3afd7348461c06cd81fd38ebfda8fbba904f8e3ea9b543f6545da1f2d5432955613f0fcf62d49705242a9af9e61e85dc0d651e40dfcf017b45575887',
    'hex',
  ),
)}`
/** From the tests of the reference implementation of Argon2, version 1.3: `password`, `somesalt`. */
const reference = [
  '$argon2id$v=19$m=65536,t=2,p=1$c29tZXNhbHQ$CTFhFdXPJO1aFaMaO6Mm5c8y7cJHAph8ArZWb2GRPPc',
  '$argon2i$v=19$m=65536,t=2,p=1$c29tZXNhbHQ$wWKIMhR9lyDFvRz9YTZweHKfbftvj+qf+YFY4NeBbtA',
]

function bare(bytes: Buffer): string {
  return bytes.toString('base64').replaceAll('=', '')
}

t.test('hashes of other programs match their passwords and no others', async (t) => {
  const rows: [password: string, stored: string][] = [
    ['pleaseletmein', rfc7914],
    ['pleaseletmein', rfc7914.replace('ln=14', 'n=16384')],
    ...reference.map((stored): [string, string] => ['password', stored]),
    ['password', String(reference[0]).replace('m=65536,t=2,p=1', 't=2,m=65536,p=1')],
    // More passes than new hashes may have.
    [
      'password',
      '$argon2id$v=19$m=64,t=100,p=1$c29tZXNhbHQ$o7/d/lQhkjgJOhWVUGcEQO8YnbmTZL5VbXdAqb/mmvI',
    ],
    ['wonderland', bcryptPackage.hashSync('wonderland', 4).replace('$2b$', '$2y$')],
  ]
  for (const [password, stored] of rows) {
    t.equal(await verifyPassword(password, stored), true, stored)
    t.equal(await verifyPassword(`${password}!`, stored), false)
  }
})

t.test('hashes of ours are read by other libraries', async (t) => {
  const small = { algorithm: 'argon2id', memory: 1024, passes: 1 } as const
  const made = await hashPassword('swordfish', small)
  t.match(made, /^\$argon2id\$v=19\$m=1024,t=1,p=1\$[\w+/]{22}\$[\w+/]{43}$/)
  t.equal(await verifyArgon2(made, 'swordfish'), true)
  t.equal(await verifyPassword('swordfish', made), true)
  const scrypt = await hashPassword('swordfish', { algorithm: 'scrypt', cost: 10 })
  const [, salt = '', key = ''] =
    /^\$scrypt\$ln=10,r=8,p=1\$([\w+/]+)\$([\w+/]+)$/.exec(scrypt) ?? []
  const again = scryptSync('swordfish', Buffer.from(salt, 'base64'), 32, { N: 1024, r: 8, p: 1 })
  t.equal(bare(again), key)
  t.equal(await verifyPassword('swordfish', scrypt), true)
})

t.test('a string that is not a hash, or above a ceiling, is false at once', async (t) => {
  const id = String(reference[0])
  const texts = [
    null,
    undefined,
    '',
    'password',
    id.replace('v=19$', ''),
    id.replace('v=19', 'v=16'),
    id.replace('argon2id', 'argon2d'),
    id.replace('m=65536', 'm=4294967296'),
    id.replace('t=2', 't=1000000000'),
    id.replace('t=2', 't=02'),
    id.replace('m=65536,t=2,p=1', 'm=128,t=8192,p=16'),
    id.replace('p=1', 'p=1,p=1'),
    rfc7914.replace('$ln', '$v=0$ln'),
    id.replace('p=1', 'p=17'),
    id.replace('m=65536', 'm=7'),
    id.replace('CTFhFdXPJO1aFaMaO6Mm5c8y7cJHAph8ArZWb2GRPPc', 'CQ'),
    `${id}=`,
    rfc7914.replace('ln=14', 'ln=40'),
    rfc7914.replace('p=1', 'p=1000000'),
    rfc7914.replace('ln=14', 'n=16383'),
    rfc7914.replace('ln=14,r=8,p=1', 'ln=1,r=1048576,p=2'),
    rfc7914.replace('ln=14,r=8', 'ln=16,r=1'),
    `$2b$15$${'a'.repeat(53)}`,
  ]
  for (const text of texts) t.equal(await verifyPassword('password', text), false, String(text))
  t.equal(await verifyPassword('', id), false)
  t.equal(await verifyPassword('x'.repeat(513), id), false)
  const { code } = await rejectionOf(verifyPassword(1 as never, id))
  t.equal(code, 'ERR_AUTH_OPTION')
})

t.test('hashes with parameters beyond the limits match no password', async (t) => {
  const [salt, key] = [Buffer.from('SodiumChloride'), 'wonderland']
  const scryptOf = (r: number, p: number): string => {
    const made = scryptSync(key, salt, 32, { N: 2, r, p })
    return `$scrypt$ln=1,r=${r},p=${p}$${bare(salt)}$${bare(made)}`
  }
  const argon2Of = (timeCost: number, parallelism: number): string =>
    hashArgon2(key, { memoryCost: 64, timeCost, parallelism })
  const rows: [stored: string, isAccepted: boolean][] = [
    [scryptOf(64, 16), true],
    [scryptOf(65, 16), false],
    [scryptOf(64, 17), false],
    [scryptOf(1, 1), true],
    [scryptOf(1, 1).replace('r=1', 'r=0'), false],
    [scryptOf(1, 1).replace('p=1', 'p=0'), false],
    [argon2Of(64, 2), true],
    [argon2Of(65, 2), false],
    [argon2Of(65, 1), true],
  ]
  for (const [stored, isAccepted] of rows) {
    t.equal(await verifyPassword(key, stored), isAccepted, stored.slice(0, 40))
  }
})

t.test('a salt and a key of any bytes are read, and no text makes parse throw', async (t) => {
  const bytes = (least: number) =>
    fc.uint8Array({ minLength: least, maxLength: 64 }).map((each) => Buffer.from(each))
  const roundTrip = fc.property(bytes(8), bytes(16), (salt, key) => {
    const [one, other] = [salt, key].map((each) => each.toString('base64').replaceAll('=', ''))
    const text = `$argon2id$v=19$m=64,t=2,p=1$${one}$${other}`
    t.equal(kinds.filter((kind) => kind.parse(text)?.text === text).length, 1)
  })
  const piece = fc.constantFrom(
    ...'$ argon2id scrypt v=19 m= t= , p= 1 99999999999 ln= n= 2b abcd'.split(' '),
  )
  const noThrow = fc.property(
    fc.oneof(
      fc.string(),
      fc.array(piece).map((pieces) => pieces.join('')),
    ),
    (text) => {
      for (const kind of kinds) kind.parse(text)
    },
  )
  fc.assert(roundTrip, { numRuns: 50 })
  t.doesNotThrow(() => fc.assert(noThrow, { numRuns: 500 }))
})

t.test('needsRehash() compares memory and work', async (t) => {
  const argon2 = { algorithm: 'argon2id', memory: 65_536, passes: 2 } as const
  const scrypt = { algorithm: 'scrypt', cost: 14 } as const
  const [id, i] = reference
  const rows: [stored: string | undefined, parameters: HashParameters, expected: boolean][] = [
    [id, argon2, false],
    [id, { ...argon2, memory: 65_537 }, true],
    [id, { ...argon2, passes: 3 }, true],
    [id, { ...argon2, memory: 19_456 }, false],
    [id, { ...argon2, parallelism: 4 }, false],
    [i, argon2, true],
    [id, {}, true],
    [rfc7914, scrypt, false],
    [rfc7914, { ...scrypt, parallelism: 2 }, true],
    [rfc7914, { ...scrypt, cost: 15 }, true],
    [rfc7914, { ...scrypt, cost: 13 }, false],
  ]
  for (const [stored, parameters, expected] of rows) {
    t.equal(needsRehash(stored, parameters), expected, JSON.stringify([stored, parameters]))
  }
  for (const parameters of [12, '12', null, [12], []]) {
    t.equal(thrownBy(() => needsRehash(id, parameters as never)).code, 'ERR_AUTH_OPTION')
  }
})
