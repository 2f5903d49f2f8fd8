import { randomBytes } from 'node:crypto'
import t from 'tap'
import { isAsymmetricKey, isBareKey, isJwk } from '../../../lib/jwt/keys/detect.js'
import { certificateOf, pemOf } from '../../helpers/certificate.js'
import { derOf, encryptedPem, moreKeys } from '../../helpers/keys.js'
import { keys, privatePem, publicPem } from '../../helpers/tokens.js'

const pairs = { ...keys, ...moreKeys }
const certificate = certificateOf(keys.p256.privateKey, keys.p256.publicKey)
const rsaPublic = keys.rsa.publicKey.export({ type: 'pkcs1', format: 'der' })
const rsaPrivate = keys.rsa.privateKey.export({ type: 'pkcs1', format: 'der' })
const ecPrivate = keys.p256.privateKey.export({ type: 'sec1', format: 'der' })
const jwk = JSON.stringify(keys.rsa.privateKey.export({ format: 'jwk' }))

/** Every form of DER, by name. */
const der: Record<string, Buffer> = {
  'a certificate': certificate,
  'PKCS#1, public': rsaPublic,
  'PKCS#1, private': rsaPrivate,
  'SEC 1': ecPrivate,
}
for (const [name, { privateKey, publicKey }] of Object.entries(pairs)) {
  der[`SPKI, ${name}`] = derOf(publicKey)
  der[`PKCS#8, ${name}`] = derOf(privateKey)
}

t.test('asymmetric keys: DER, base64 of it, PEM, base64 of it', async (t) => {
  for (const [title, bytes] of Object.entries(der)) {
    t.ok(isAsymmetricKey(bytes), title)
    t.ok(isAsymmetricKey(Buffer.from(bytes.toString('base64'))), `base64: ${title}`)
    t.ok(isAsymmetricKey(Buffer.from(bytes.toString('base64url'))), `base64url: ${title}`)
  }
  for (const [name, { privateKey, publicKey }] of Object.entries(pairs)) {
    for (const pem of [publicPem(publicKey), privatePem(privateKey)]) {
      t.ok(isAsymmetricKey(Buffer.from(pem)), `PEM: ${name}`)
      const base64 = Buffer.from(pem).toString('base64')
      t.ok(isAsymmetricKey(Buffer.from(base64)), `base64 of PEM: ${name}`)
    }
  }
  t.ok(isAsymmetricKey(Buffer.from(pemOf('CERTIFICATE', certificate))))
  t.ok(isAsymmetricKey(Buffer.from(encryptedPem(keys.rsa.privateKey))))
})

t.test('what is no asymmetric key', async (t) => {
  const texts = ['', 'x'.repeat(64), 'BEGIN PUBLIC KEY', 'MIIB', '{"kty":"oct"}', '----- BEG']
  for (const text of texts) t.notOk(isAsymmetricKey(Buffer.from(text)), text)
  for (const encoding of ['base64', 'base64url', 'hex', 'latin1'] as const) {
    const secret = Buffer.from(randomBytes(64).toString(encoding), 'latin1')
    t.notOk(isAsymmetricKey(secret), encoding)
  }
})

t.test('JSON Web Keys (RFC 7517)', async (t) => {
  const key = { kty: 'oct', k: 'AAAA' }
  for (const value of [key, { keys: [] }, { keys: [key] }, [key], ['x', key], { kty: null }]) {
    t.ok(isJwk(JSON.stringify(value)), JSON.stringify(value))
    t.ok(isJwk(`\n ${JSON.stringify(value, null, 2)} `), 'indented')
  }
  t.ok(isJwk(jwk))
  for (const value of [{}, { key }, [], null, true, 7, 'kty', { KTY: 'oct' }]) {
    t.notOk(isJwk(JSON.stringify(value)), JSON.stringify(value))
  }
  for (const text of ['', '{', 'kty', '{"kty"}', "{'kty':'oct'}"]) t.notOk(isJwk(text), text)
})

t.test('bare keys: JSON, base64 of DER or of PEM', async (t) => {
  t.ok(isBareKey(jwk))
  t.ok(isBareKey(` ${jwk}`))
  for (const [title, bytes] of Object.entries(der)) {
    const base64 = bytes.toString('base64')
    t.ok(isBareKey(base64), title)
    t.ok(isBareKey(bytes.toString('base64url')), `base64url: ${title}`)
    const lines = (base64.match(/.{1,64}/g) ?? []).join('\n')
    t.ok(isBareKey(lines), `in lines: ${title}`)
    t.ok(isBareKey(lines.replaceAll('\n', '\\n')), `\\n spelled out: ${title}`)
  }
  t.ok(isBareKey(Buffer.from(privatePem(keys.rsa.privateKey)).toString('base64')), 'PEM')
})

t.test('paths are no bare keys', async (t) => {
  const paths = [
    'key.pem',
    './key.pem',
    '/run/secrets/jwt-signing-key-of-the-production-environment',
    'MIIB.pem',
    'My keys/rsa.pem',
    'C:\\keys\\rsa.pem',
    '{app}/key.pem',
    `keys/${'MIIEvQIBADANBgkqhkiG9w0BAQ'.repeat(3)}`,
    '',
    'M',
  ]
  for (const path of paths) t.notOk(isBareKey(path), path)
})
