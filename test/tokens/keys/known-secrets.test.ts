import { randomBytes } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import t from 'tap'
import { JwtService } from '../../../lib/index.js'
import { checkWeakness } from '../../../lib/tokens/keys/known-secrets.js'
import { setNodeEnv } from '../../helpers/environment.js'
import { root } from '../../helpers/project.js'

const weak = 'a-secret-of-at-least-32-bytes-here'

/** What startup says of a secret in production; null where nothing is wrong. */
function weaknessOf(secret: Uint8Array): string | null {
  try {
    checkWeakness('"here"', secret)
    return null
  } catch (error) {
    return String(error)
  }
}

t.test('published secrets and secrets of few different bytes are weak', async (t) => {
  setNodeEnv(t, 'production')
  const found = [weak, ` ${weak}\n`, 'x'.repeat(64), 'abcdefg'.repeat(9), '\0'.repeat(32)]
  for (const secret of found) t.not(weaknessOf(Buffer.from(secret)), null, secret)
  const encodings = ['base64', 'base64url', 'hex'] as const
  const encoded = encodings.map((encoding) => Buffer.from(weak).toString(encoding))
  for (const secret of [...encoded, ` ${encoded[0]}\n`, String(encoded[2]).toUpperCase()])
    t.not(weaknessOf(Buffer.from(secret)), null, secret)
  // As a tutorial of Spring Boot and RFC 7515 have them.
  const spring = '404E635266556A586E3272357538782F413F4428472B4B6250645367566B5970'
  const rfc =
    'AyM1SysPpbyDfgZld3umj1qzKObwVMkoqQ-EstJQLr_T-1qS0gZH75aKtMN3Yj0iPS4hcgUuTwjAzZr1Z9CAow'
  for (const [secret, encoding] of [
    [spring, 'base64'],
    [spring, 'hex'],
    [rfc, 'base64url'],
  ] as const) {
    t.not(weaknessOf(Buffer.from(secret, encoding)), null, `${encoding} of ${secret}`)
  }
  const fine = ['abcdefgh'.repeat(8), `${weak}!`, randomBytes(64).toString('base64url')]
  for (const secret of fine) t.equal(weaknessOf(Buffer.from(secret)), null, secret)
  const random = Array.from({ length: 1000 }, () => weaknessOf(randomBytes(32)))
  t.strictSame(new Set(random), new Set([null]))
})

t.test('every secret in the documentation and the examples is known as weak', async (t) => {
  setNodeEnv(t, 'production')
  const below = (folder: string): string[] =>
    readdirSync(path.join(root, folder), { recursive: true, encoding: 'utf8' })
      .filter((file) => /(?<!\.test)\.(?:md|[cm]?[jt]s|html)$/.test(file))
      .map((file) => `${folder}/${file}`)
  for (const file of ['README.md', ...below('docs'), ...below('examples')]) {
    const text = readFileSync(path.join(root, file), 'utf8')
    const secrets = /(?:\bsecret: ?|AUTH_JWT_SECRET ?(?:\|\||\?\?|=) ?)(['"`])([^'"`$\n]{32,})\1/g
    for (const [, , secret = ''] of text.matchAll(secrets)) {
      t.not(weaknessOf(Buffer.from(secret)), null, `${file}: ${secret}`)
    }
    if (/(?:SECRET|PASSWORD)\b["'\]]* ?(?:\|\||\?\?|:-)/.test(text)) t.fail(`${file}: a fallback`)
  }
})

t.test('a weak secret makes startup fail in production, and is a warning elsewhere', async (t) => {
  const warnings: (Error & { code?: string })[] = []
  const listen = (warning: Error): unknown => warnings.push(warning)
  process.on('warning', listen)
  t.teardown(() => process.off('warning', listen))
  // A name of its own, since other tests of this process have weak secrets too.
  for (const secret of [weak, 'x'.repeat(40)]) checkWeakness('"here"', Buffer.from(secret))
  await new Promise(setImmediate)
  t.match(warnings, [{ code: 'AUTHN_WEAK_SECRET', message: /"here".*npx fastify-authn/ }])
  t.equal(warnings.length, 1)
  t.notMatch(warnings[0]?.message, weak)

  setNodeEnv(t, 'production')
  for (const secret of [weak, Buffer.from(weak), 'x'.repeat(40)]) {
    t.throws(() => new JwtService({ secret }), {
      code: 'ERR_AUTH_KEY',
      message: /option "jwt\.secret": .*npx fastify-authn secret$/,
    })
  }
  const inSet = { alg: 'HS256', kid: 'a', secret: weak, state: 'sign' } as const
  await t.rejects(new JwtService({ keys: [inSet] }).load(), { code: 'ERR_AUTH_KEY' })
  t.ok(new JwtService({ secret: randomBytes(64).toString('base64url') }))
})
