// What AUTH_JWT_KEYS does to the commands.
import { readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import t from 'tap'
import { configFromEnv, JwtService } from '../../lib/index.js'
import { cli, piped } from '../helpers/cli.js'
import { ringSecret } from '../helpers/rings.js'
import type { KeyFileEntry } from '../../types/keys.js'

t.test('AUTH_JWT_KEYS names the ring file', async (t) => {
  const file = path.join(t.testdir(), 'ring.json')
  await cli(['keys', 'init', 'ES256', '--ring', file])
  const [sign] = JSON.parse(readFileSync(file, 'utf8')) as [KeyFileEntry]
  const env = { AUTH_JWT_KEYS: file, NODE_ENV: 'production' }
  t.strictSame(configFromEnv(env), { jwt: { keys: file } })

  const made = await cli(['token', '--sub', 'alice', '--json'], { env })
  t.equal(made.exit, 0)
  const { token, alg } = JSON.parse(made.stdout) as { token: string; alg: string }
  t.equal(alg, 'ES256')
  const service = await new JwtService({ ...configFromEnv(env).jwt, reloadEvery: 0 }).load()
  t.equal(service.verify(token).sub, 'alice')

  const inspected = await cli(['inspect', '--json'], { env, stdin: piped(token) })
  t.match(JSON.parse(inspected.stdout), { valid: true, key: { kid: sign.kid, alg: 'ES256' } })
  t.equal(inspected.exit, 0)

  const doctor = async (more: Record<string, string> = {}, words: string[] = []) => {
    const { exit, stdout } = await cli(['doctor', '--json', ...words], { env: { ...env, ...more } })
    const { findings } = JSON.parse(stdout) as { findings: { level: string; problem: string }[] }
    return { exit, found: findings.map(({ level, problem }) => `${level}: ${problem}`) }
  }
  t.strictSame(await doctor(), { exit: 0, found: [] })
  t.strictSame(await doctor({ AUTH_JWT_EXPIRY: '900' }, ['--alg', 'ES256']), { exit: 0, found: [] })
  const both = await doctor({ AUTH_JWT_SECRET: ringSecret })
  t.equal(both.exit, 1)
  t.match(both.found.join('\n'), /error: found beside AUTH_JWT_SECRET, expected one or the other/)
  writeFileSync(file, '[]')
  const bad = await doctor()
  t.equal(bad.exit, 1)
  t.match(bad.found.join('\n'), /error: .*found an array of 0/)
  const gone = await doctor({ AUTH_JWT_KEYS: `${file}.gone` })
  t.equal(gone.exit, 1)
})
