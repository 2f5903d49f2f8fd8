// What sessions promise, shown with the built package over processes of their own and real servers of Redis and of
// PostgreSQL, of which some are killed in the middle.
//
//   npm run prove:sessions
import assert from 'node:assert/strict'
import { execFileSync, fork } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { postgresServer } from '../test/helpers/postgres-server.ts'
import { findProgram } from '../test/helpers/programs.ts'
import { redisServer } from '../test/helpers/redis-server.ts'

const program = fileURLToPath(new URL('prove-sessions/app.js', import.meta.url))
const commandLine = fileURLToPath(new URL('../dist/bin/fastify-authn.js', import.meta.url))
const secret = randomBytes(64).toString('base64url')

const kinds = {
  async Redis(endings) {
    const server = await redisServer(endings, { persistent: true })
    return { ...server, url: `redis://127.0.0.1:${server.port}` }
  },
  async PostgreSQL(endings) {
    const server = await postgresServer(endings)
    const schema = execFileSync(commandLine, ['sessions', 'schema', '--prefix', 'prove'])
    await server.pool().query(schema.toString())
    return server
  },
}

const proofs = {
  '200 uses of one refresh token at once, over two processes, give one successor': together,
  'after kill -9 between the swap and the answer the client goes on with its token': killedProcess,
  'the store is killed in the middle, and back: nobody logged out, nobody let in': killedStore,
}

const count = { passed: 0, failed: 0 }
for (const [kind, open] of Object.entries(kinds)) {
  const running = []
  try {
    assert.ok(findProgram(kind), `${kind} is not installed`)
    const server = await open({ teardown: (end) => running.push(end) })
    for (const [name, proof] of Object.entries(proofs)) await prove(kind, server, name, proof)
  } finally {
    for (const end of running.toReversed()) await end()
  }
}
console.log(`${count.passed} passed, ${count.failed} failed`)
process.exitCode = count.failed > 0 ? 1 : 0

/** Runs a proof with its server and a way to start apps, which end with it. */
async function prove(kind, server, name, proof) {
  const apps = []
  const start = async () => {
    const env = { ...process.env, STORE_KIND: kind, STORE_URL: server.url, SECRET: secret }
    const child = fork(program, { env, execArgv: [] })
    apps.push(child)
    const ended = once(child, 'exit').then(([code]) => assert.fail(`the app has ended: ${code}`))
    // After that its end is meant.
    ended.catch(() => undefined)
    const [port] = await Promise.race([once(child, 'message'), ended])
    return appAt(port, child)
  }
  try {
    await proof({ server, start })
    count.passed += 1
    console.log(`ok     ${kind}: ${name}`)
  } catch (error) {
    count.failed += 1
    console.log(`not ok ${kind}: ${name}\n${error.stack}`)
  }
  for (const child of apps) child.kill('SIGKILL')
}

/** What clients do with an app in another process. A request without an answer has the status 0. */
function appAt(port, child) {
  const ask = async (path, { token, ...init }) => {
    const headers = {
      'content-type': 'application/json',
      ...(token && { authorization: `Bearer ${token}` }),
    }
    try {
      const reply = await fetch(`http://127.0.0.1:${port}${path}`, { headers, ...init })
      const text = await reply.text()
      const retryAfter = Number(reply.headers.get('retry-after'))
      return { ...(text && JSON.parse(text)), status: reply.status, retryAfter }
    } catch {
      return { status: 0 }
    }
  }
  const post = (path, body, token) =>
    ask(path, { method: 'POST', body: JSON.stringify(body), token })
  return {
    child,
    login: (username = 'alice') => post('/login', { username, password: 'wonderland' }),
    refresh: ({ refreshToken }) => post('/login/refresh', { refreshToken }),
    logout: ({ token }) => post('/logout', {}, token),
    me: async ({ token }) => (await ask('/me', { token })).status,
  }
}

/** Waits for what must come within so many seconds. */
async function within(seconds, what, condition) {
  const end = performance.now() + seconds * 1000
  while (!(await condition())) {
    assert.ok(performance.now() < end, `not within ${seconds} s: ${what}`)
    await sleep(20)
  }
}

async function together({ start }) {
  const apps = await Promise.all([start(), start()])
  const first = await apps[0].login()
  const replies = await Promise.all(
    Array.from({ length: 200 }, (_, index) => apps[index % 2].refresh(first)),
  )
  assert.ok(replies.every(({ status }) => status === 200))
  assert.equal(new Set(replies.map(({ refreshToken }) => refreshToken)).size, 1)
  assert.equal(new Set(replies.map(({ token }) => token)).size, 200, 'access tokens of their own')
  for (const app of apps) assert.equal(await app.me(replies[7]), 200)
  assert.equal((await apps[1].refresh(replies[0])).status, 200, 'the session goes on')
}

async function killedProcess({ start }) {
  const [mortal, other] = await Promise.all([start(), start()])
  const first = await mortal.login()
  mortal.child.send('die after the next swap')
  await once(mortal.child, 'message')
  assert.equal((await mortal.refresh(first)).status, 0, 'no answer')
  const second = await other.refresh(first)
  assert.equal(second.status, 200, 'the token that the client still has')
  const third = await other.refresh(second)
  assert.equal(third.status, 200)
  assert.equal(await other.me(third), 200)
}

async function killedStore({ server, start }) {
  const [one, two] = await Promise.all([start(), start()])
  const left = await one.login('bob')
  await one.logout(left)
  const isRefused = (app) => within(1, 'a logout', async () => (await app.me(left)) === 401)
  for (const app of [one, two]) await isRefused(app)
  const clients = await Promise.all(
    Array.from({ length: 12 }, async (_, index) => ({
      pair: await one.login(`user ${index}`),
      refreshed: 0,
    })),
  )
  const load = { isOpen: true }
  const wrong = []
  const using = clients.map(async (client, index) => {
    while (load.isOpen && wrong.length === 0) {
      const reply = await (index % 2 ? one : two).refresh(client.pair)
      if (reply.status === 200) {
        client.pair = reply
        client.refreshed += 1
      } else if (reply.status === 503 && reply.retryAfter > 0) await sleep(50)
      else wrong.push(reply)
    }
  })
  await sleep(300)
  await server.kill()
  const { pair } = clients[0]
  const late = start()
  late.catch(() => undefined)
  const refused = await Promise.all([one.login(), one.refresh(pair), one.logout(pair)])
  for (const { status } of refused) assert.equal(status, 503, 'nothing that could be forgotten')
  for (const app of [one, two]) {
    assert.equal(await app.me(pair), 200, 'access tokens go on')
    assert.equal(await app.me(left), 401, 'known logouts hold')
  }
  await server.start()
  const third = await late
  const before = clients.map(({ refreshed }) => refreshed)
  const goesOn = ({ refreshed }, index) => refreshed > before[index]
  await within(8, 'everybody goes on', () => clients.every(goesOn) || wrong.length > 0)
  load.isOpen = false
  await Promise.all(using)
  assert.deepEqual(wrong, [])
  await within(5, 'a process that has begun meanwhile accepts tokens', async () => {
    return (await third.me(clients[0].pair)) === 200
  })
  for (const app of [one, two, third]) {
    await isRefused(app)
    assert.equal((await app.refresh(left)).status, 401, 'nobody is let in')
  }
}
