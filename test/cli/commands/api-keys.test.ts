// program: redis
import { Redis } from 'ioredis'
import t, { type Test } from 'tap'
import { redisApiKeys, sqlApiKeys, type ApiKeyStore } from '../../../lib/api-keys/index.js'
import { digestOf } from '../../../lib/common/digest.js'
import { apiKeysSchema } from '../../../lib/api-keys/stores/sql.js'
import { Broken, cli, cliProcess } from '../../helpers/cli.js'
import { postgresServer } from '../../helpers/postgres-server.js'
import { unlessFound } from '../../helpers/programs.js'
import { redisServer } from '../../helpers/redis-server.js'

t.test('api-keys schema prints the SQL of the table', async (t) => {
  const { exit, stdout, stderr } = await cli('api-keys schema --prefix shop')
  t.strictSame([exit, stdout, stderr], [0, `${apiKeysSchema('shop')}\n`, ''])
  t.match(await cli(['api-keys', 'schema', '--prefix', 'a;b']), { exit: 1, stdout: '' })
})

t.test('wrong usage exits with 2', async (t) => {
  const good = 'api-keys issue alice --prefix shop --key-prefix acme --name x --expires 1d'
  const without = (part: RegExp): string => good.replace(part, '')
  for (const words of [
    'api-keys',
    'api-keys schema',
    'api-keys list --prefix shop',
    'api-keys list alice',
    'api-keys revoke --prefix shop',
    'api-keys revoke abc --owner alice --prefix shop',
    without(/alice/),
    without(/--prefix shop/),
    without(/--key-prefix acme/),
    without(/--name x/),
    without(/--expires 1d/),
    good.replace('acme', 'ACME'),
    good.replace('1d', '0d'),
    good.replace('1d', '1'),
    good.replace('1d', 'soon'),
  ]) {
    t.match(await cli(words), { exit: 2, stdout: '' }, words)
  }
  t.match(await cli(good), {
    exit: 1,
    stderr: /AUTH_API_KEYS_REDIS_URL and AUTH_API_KEYS_DATABASE_URL/,
  })
})

/** Issues, shows and revokes. */
async function work(t: Test, env: Record<string, string>, store: ApiKeyStore): Promise<void> {
  const run = (words: string) => cli(`api-keys ${words} --prefix shop`, { env })
  const made = await run(
    'issue alice --key-prefix acme_live --name job --scope a:b --scope c --expires 90d',
  )
  t.match(made, { exit: 0, stdout: /^acme_live_[0-9A-Za-z]{54}\n$/ })
  t.notMatch(made.stderr, made.stdout.trim())
  const id = made.stdout.slice(10, 26)
  const stored = await store.find(id)
  t.match(stored, {
    digest: digestOf(made.stdout.trim()),
    owner: 'alice',
    name: 'job',
    scopes: ['a:b', 'c'],
  })
  const days = (Number(stored?.expiresAt) - Number(stored?.createdAt)) / 86_400
  t.ok(Math.abs(days - 90) < 0.01)
  t.match(await run('issue alice --key-prefix acme --name * --expires never --scope é'), {
    exit: 2,
    stderr: /"scopes"/,
  })
  t.match(await run('issue --scope a carol --key-prefix acme --name x --expires never'), {
    exit: 0,
  })
  const json = await run('issue alice --key-prefix acme --name other --expires never --json')
  const other = JSON.parse(json.stdout) as { key: string; id: string; expiresAt: null }
  t.match(other, { ok: true, key: /^acme_/, owner: 'alice', expiresAt: null, scopes: [] })

  const listed = await run('list alice')
  t.match(listed.stdout, id)
  t.match(listed.stdout, /job +a:b c/)
  const { keys } = JSON.parse((await run('list alice --json')).stdout) as { keys: { id: string }[] }
  const found = keys.map((key) => key.id)
  t.strictSame(found, [other.id, id])
  t.notMatch(listed.stdout + JSON.stringify(keys), digestOf(other.key))
  t.match(await run('list bob'), { exit: 0, stdout: 'No API keys.\n' })

  t.match(await run(`revoke ${id}`), { exit: 0, stdout: '1 key revoked.\n' })
  t.match(await run(`revoke ${id}`), { exit: 1, stdout: '0 keys revoked.\n' })
  t.match(await run('revoke x'), { exit: 1 })
  t.match(await run('revoke --owner alice --json'), { exit: 0, stdout: new RegExp(other.id) })
  t.match(await run('revoke --owner alice'), { exit: 1 })
  t.match((await run('list alice')).stdout, /revoked .* ago/)
  await workAlone(t, env)
  await workUnseen(t, env, store)
}

/** In processes of their own, where the tests load nothing for them. */
async function workAlone(t: Test, env: Record<string, string>): Promise<void> {
  const run = (words: string) => cliProcess(`api-keys ${words} --prefix shop`, env)
  const made = await run('issue dave --key-prefix acme --name job --expires 90d')
  t.match(made, { exit: 0, stdout: /^acme_[0-9A-Za-z]{54}\n$/ })
  const id = made.stdout.slice(5, 21)
  t.match(await run('list dave'), { exit: 0, stdout: id })
  t.match(await run(`revoke ${id}`), { exit: 0, stdout: '1 key revoked.\n' })
}

/** Where the key cannot be printed, none is left that is valid. */
async function workUnseen(t: Test, env: Record<string, string>, store: ApiKeyStore): Promise<void> {
  const words = 'api-keys issue erin --key-prefix acme --name job --expires 90d --prefix shop'
  for (const code of ['ENOSPC', 'EPIPE']) {
    const unseen = await cli(words, { env, stdout: new Broken(code) })
    t.match(unseen, { exit: 1, stderr: /could not be printed, so it was revoked/ })
  }
  const keys = await store.list('erin')
  const found = keys.map(({ revokedAt }) => typeof revokedAt)
  t.strictSame(found, ['number', 'number'])
}

t.test('api-keys issue, list and revoke in Redis', { skip: unlessFound('Redis') }, async (t) => {
  const server = await redisServer(t)
  const client = new Redis(server.port, '127.0.0.1')
  t.teardown(() => client.disconnect())
  const env = { AUTH_API_KEYS_REDIS_URL: `redis://127.0.0.1:${server.port}` }
  await work(t, env, redisApiKeys(client, { prefix: 'shop' }).open('default'))
})

t.test(
  'api-keys issue, list and revoke in PostgreSQL',
  { skip: unlessFound('PostgreSQL') },
  async (t) => {
    const server = await postgresServer(t)
    const env = { AUTH_API_KEYS_DATABASE_URL: server.url }
    const before = await cli('api-keys list alice --prefix shop', { env })
    t.match(before, { exit: 1, stderr: /npx fastify-authn api-keys schema --prefix shop/ })
    const pool = server.pool()
    await pool.query(apiKeysSchema('shop'))
    const query = (text: string, params: unknown[]) => pool.query(text, params)
    await work(t, env, sqlApiKeys({ query, prefix: 'shop' }).open('default'))
  },
)
