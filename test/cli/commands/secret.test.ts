import t from 'tap'
import { JwtService } from '../../../lib/tokens/service.js'
import { configFromEnv } from '../../../lib/options/environment.js'
import { cli, envOf } from '../../helpers/cli.js'

t.test('secret prints a secret that the server accepts for the method', async (t) => {
  for (const method of ['HS256', 'HS384', 'HS512'] as const) {
    const { exit, stdout, stderr } = await cli(`secret --alg ${method}`)
    t.equal(exit, 0)
    t.equal(stderr, '')
    t.match(stdout, /^AUTH_JWT_SECRET=[\w-]+\n$/)
    const env = envOf(stdout)
    const bits = Buffer.from(String(env.AUTH_JWT_SECRET), 'base64url').length * 8
    t.equal(bits, Number(method.slice(2)), 'random bits')
    const { jwt = {} } = configFromEnv(env)
    const service = new JwtService({ ...jwt, signingMethod: method })
    t.match(service.verify(service.generateToken('alice')), { sub: 'alice' })
  }
})

t.test('secret prints 512 bits by default', async (t) => {
  const { exit, stdout } = await cli('secret --json')
  t.equal(exit, 0)
  const { ok, bits, env } = JSON.parse(stdout) as {
    ok: boolean
    bits: number
    env: Record<string, string>
  }
  t.strictSame([ok, bits], [true, 512])
  t.equal(Buffer.from(String(env.AUTH_JWT_SECRET), 'base64url').length, 64)
  t.not(stdout, (await cli('secret --json')).stdout, 'another one each time')
})

t.test('secret rejects a method without a secret', async (t) => {
  const { exit, stdout, stderr } = await cli('secret --alg RS1')
  t.strictSame([exit, stdout], [2, ''])
  t.match(stderr, 'Allowed choices are HS256, HS384, HS512.')
})
