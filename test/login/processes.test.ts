// program: its own, in npm run test:all
// Confirmations in two processes that share nothing but Redis.
import t, { type Test } from 'tap'
import { password } from '../helpers/accounts.js'
import { answerOf, sessionOf, type Headers } from '../helpers/client.js'
import { until } from '../helpers/load.js'
import { startProcess } from '../helpers/processes.js'
import { unlessFound } from '../helpers/programs.js'
import { redisServer } from '../helpers/redis-server.js'

const skip = unlessFound('Redis')
const gone = '401 ERR_AUTH_JWT_INVALID'
const wrong = '403 ERR_AUTH_CURRENT_PASSWORD'

async function startShop(t: Test, redis: number) {
  const env = { TEST_REDIS_PORT: String(redis) }
  const { post, get } = await startProcess(t, 'confirm-process', env)
  return {
    post,
    begin: async () => sessionOf(await post('/begin')),
    me: async (headers: Headers) => (await get('/me', headers)).statusCode,
  }
}

t.test('wrong guesses of a session are counted over two processes', { skip }, async (t) => {
  const { port } = await redisServer(t)
  const [one, other] = await Promise.all([startShop(t, port), startShop(t, port)])
  const [headers, second] = [await one.begin(), await one.begin()]
  const answers: string[] = []
  for (let count = 0; count < 5; count += 1) {
    const shop = count % 2 ? one : other
    answers.push(answerOf(await shop.post('/login/confirm', { password: 'another' }, headers)))
  }
  t.strictSame(answers, [wrong, wrong, wrong, wrong, gone])
  t.equal(await one.me(second), 200, 'another session of the user')
  await until(async () => (await one.me(headers)) === 401, 'the other process knows')
  const right = await other.post('/login/confirm', { password }, second)
  t.equal(answerOf(right), '200 tokens', 'the user is not throttled')
})
