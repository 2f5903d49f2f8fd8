import t, { type Test } from 'tap'
import { ApiKeys, buildApp } from '../../examples/api-key.js'
import { bearer, expectAnswer } from '../helpers/examples.js'

const url = '/reports'
const owner = { id: 1, username: 'alice' }
const apiKey = (key: string) => ({ authorization: `ApiKey ${key}` })

const problem = (status: number, code: string) =>
  JSON.stringify({ type: `https://api.example/problems/${code}`, status })
const problemHeaders = { 'content-type': 'application/problem+json', 'cache-control': 'no-store' }
const challenged = { ...problemHeaders, 'www-authenticate': 'ApiKey realm="reports"' }
const wrongKey = problem(401, 'ERR_AUTH_INVALID_CREDENTIALS')
const noKey = problem(401, 'ERR_AUTH_NO_CREDENTIALS')
const noChallenge = { 'www-authenticate': undefined }

async function setUp(t: Test) {
  const keys = new ApiKeys()
  const app = await buildApp(keys)
  t.teardown(() => app.close())
  return { keys, app, answer: expectAnswer(t, app) }
}

t.test('a key says who asks, and what for', async (t) => {
  const { keys, answer } = await setUp(t)
  const reader = apiKey(keys.issue(owner, ['reports:read']))
  const writer = apiKey(keys.issue({ id: 2, username: 'bob' }, ['reports:write']))
  const aliceReads = { reader: 'alice', scopes: ['reports:read'] }
  await answer({ url, headers: reader }, 200, aliceReads, noChallenge)
  const lower = { authorization: reader.authorization.replace('ApiKey', 'apikey') }
  await answer({ url, headers: lower }, 200, aliceReads, noChallenge)
  await answer({ method: 'POST', url, headers: writer }, 201, '', noChallenge)
  const missing = problem(403, 'ERR_AUTH_INSUFFICIENT_SCOPE')
  const forbidden = { ...problemHeaders, ...noChallenge }
  await answer({ url, headers: writer }, 403, missing, forbidden)
  await answer({ method: 'POST', url, headers: reader }, 403, missing, forbidden)
})

t.test('without a key', async (t) => {
  const { answer } = await setUp(t)
  await answer({ url }, 401, noKey, challenged)
  await answer({ url, headers: bearer('x.y.z') }, 401, noKey, challenged)
  await answer({ url, headers: { authorization: 'ApiKey' } }, 401, noKey, challenged)
  await answer({ method: 'DELETE', url: '/key' }, 401, noKey, challenged)
})

t.test('with a wrong key', async (t) => {
  const { keys, answer } = await setUp(t)
  const key = keys.issue(owner, ['reports:read'])
  const [, id = '', secret = ''] = /^key_([^_]+)_(.+)$/.exec(key) ?? []
  const [, other = ''] = /^key_([^_]+)_/.exec(keys.issue(owner, [])) ?? []
  for (const wrong of [
    `key_${id}_${'A'.repeat(43)}`,
    `key_${other}_${secret}`,
    `key_${'0'.repeat(16)}_${secret}`,
    `key_${id}_`,
    `key_${id}_${secret}x`,
    `${key} `.repeat(2),
    'key___proto___x',
    secret,
    'x'.repeat(8000),
  ]) {
    await answer({ url, headers: apiKey(wrong) }, 401, wrongKey, challenged)
  }
})

t.test('a revoked key is out at once, and no other one', async (t) => {
  const { keys, answer } = await setUp(t)
  const first = apiKey(keys.issue(owner, ['reports:read']))
  const second = apiKey(keys.issue(owner, ['reports:read']))
  await answer({ method: 'DELETE', url: '/key', headers: first }, 204, '', noChallenge)
  await answer({ url, headers: first }, 401, wrongKey, challenged)
  await answer({ method: 'DELETE', url: '/key', headers: first }, 401, wrongKey, challenged)
  const body = { reader: 'alice', scopes: ['reports:read'] }
  await answer({ url, headers: second }, 200, body, noChallenge)
})

t.test('of a key only a digest is kept', async (t) => {
  const keys = new ApiKeys()
  const key = keys.issue(owner, [])
  const found = keys.find(key)
  t.match(found, { owner, scopes: [], id: key.slice(4, 20) })
  t.equal(found?.digest.length, 32)
  t.notMatch(JSON.stringify({ ...found, digest: found?.digest.toString() }), key.slice(21))
})
