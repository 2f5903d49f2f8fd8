// What sessions promise, shown with the built package, over processes of their own and real servers of Redis and of
// PostgreSQL, which it starts and kills. What is not installed is left out, and that is told.
//
//   npm run prove:sessions
import assert from 'node:assert/strict'
import { execFileSync, fork } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { rmSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { postgresServer } from '../test/helpers/postgres-server.ts'
import { findProgram } from '../test/helpers/programs.ts'
import { redisServer } from '../test/helpers/redis-server.ts'

const program = fileURLToPath(new URL('prove-sessions/app.js', import.meta.url))
const commandLine = fileURLToPath(new URL('../dist/bin/fastify-authn.js', import.meta.url))
/** In seconds, and short, so that the proof need not wait long for their end. */
const grace = 3
const secret = randomBytes(64).toString('base64url')

const kinds = {
  async Redis(endings) {
    if (findProgram('Redis') === null) return null
    const server = await redisServer(endings, { persistent: true })
    return { ...server, url: `redis://127.0.0.1:${server.port}` }
  },
  async PostgreSQL(endings) {
    if (findProgram('PostgreSQL') === null) return null
    const server = await postgresServer(endings)
    const pool = server.pool()
    const schema = execFileSync(process.execPath, [commandLine, 'sessions', 'schema'])
    await pool.query(schema.toString())
    return server
  },
}

const proofs = {
  '200 uses of one refresh token at once, over two processes, give one successor': together,
  'a token that is used after the grace ends everything, what was got within it too': reuse,
  'a session that is ended while it is refreshed is ended, in every process': endWhileRefreshing,
  'after kill -9 between the swap and the answer the client goes on with its token': killedProcess,
  'the store is killed in the middle, and back: nobody logged out, nobody let in': killedStore,
}
/** What can be done to Redis only. */
const proofsOfRedis = {
  'the store does not answer for seconds: nobody logged out, nobody let in': heldUp,
  'the store comes back empty: what is known as ended stays so': emptied,
}

let passed = 0
let failed = 0
for (const [kind, open] of Object.entries(kinds)) {
  const running = []
  const endings = { teardown: (end) => running.push(end) }
  try {
    const server = await open(endings)
    if (server === null) {
      console.log(`skipped ${kind}: it is not installed # SKIP`)
      continue
    }
    const all = kind === 'Redis' ? { ...proofs, ...proofsOfRedis } : proofs
    for (const [name, proof] of Object.entries(all)) {
      await report(`${kind}: ${name}`, () => onStage(kind, server, proof))
    }
  } catch (error) {
    failed += 1
    console.log(`not ok ${kind}: ${error.stack}`)
  } finally {
    for (const end of running.toReversed()) await end()
  }
}
console.log(`${passed} passed, ${failed} failed`)
process.exitCode = failed > 0 || passed === 0 ? 1 : 0

async function report(name, proof) {
  const start = performance.now()
  try {
    await proof()
    passed += 1
    console.log(`ok     ${name} (${((performance.now() - start) / 1000).toFixed(1)} s)`)
  } catch (error) {
    failed += 1
    console.log(`not ok ${name}\n       ${String(error.stack).replaceAll('\n', '\n       ')}`)
  }
}

/** Gives a proof its server and a way to start apps, which end with it. */
async function onStage(kind, server, proof) {
  const apps = []
  const start = async () => {
    const env = {
      ...process.env,
      STORE_KIND: kind,
      STORE_URL: server.url,
      GRACE: String(grace),
      SECRET: secret,
    }
    const child = fork(program, { env, execArgv: [] })
    apps.push(child)
    const [port] = await Promise.race([
      once(child, 'message'),
      once(child, 'exit').then(([code]) => assert.fail(`the app has ended with ${code}`)),
    ])
    return appAt(port, child)
  }
  try {
    await proof({ server, start })
  } finally {
    for (const child of apps.filter(
      ({ exitCode, signalCode }) => (exitCode ?? signalCode) === null,
    )) {
      child.kill('SIGKILL')
      await once(child, 'exit')
    }
  }
}

/** What clients do with an app in another process. A request without an answer has the status 0. */
function appAt(port, child) {
  const post = async (path, body, token) => {
    const headers = {
      ...(body && { 'content-type': 'application/json' }),
      ...(token && { authorization: `Bearer ${token}` }),
    }
    const init = { method: 'POST', headers, ...(body && { body: JSON.stringify(body) }) }
    return answer(fetch(`http://127.0.0.1:${port}${path}`, init))
  }
  return {
    child,
    login: (username = 'alice') => post('/login', { username, password: 'wonderland' }),
    refresh: ({ refreshToken }) => post('/login/refresh', { refreshToken }),
    logout: ({ token }, body) => post('/logout', body, token),
    async me({ token }) {
      const headers = { authorization: `Bearer ${token}` }
      return (await answer(fetch(`http://127.0.0.1:${port}/me`, { headers }))).status
    },
  }
}

async function answer(response) {
  try {
    const { status, headers, text } = await response.then(async (reply) => ({
      status: reply.status,
      headers: reply.headers,
      text: await reply.text(),
    }))
    return { status, retryAfter: headers.get('retry-after'), ...(text && JSON.parse(text)) }
  } catch {
    return { status: 0 }
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

/** Checks that no app accepts an access token any more, and that no refresh token is exchanged. */
async function isOver(apps, pairs) {
  for (const pair of pairs) {
    for (const app of apps) {
      await within(1, 'its access token is refused', async () => (await app.me(pair)) === 401)
      assert.equal((await app.refresh(pair)).status, 401)
    }
  }
}

function statusesOf(replies) {
  return [...new Set(replies.map(({ status }) => status))]
}

async function together({ start }) {
  const apps = await Promise.all([start(), start()])
  const first = await apps[0].login()
  const replies = await Promise.all(
    Array.from({ length: 200 }, (_, index) => apps[index % 2].refresh(first)),
  )
  assert.deepEqual(statusesOf(replies), [200])
  assert.equal(new Set(replies.map(({ refreshToken }) => refreshToken)).size, 1)
  assert.equal(new Set(replies.map(({ token }) => token)).size, 200, 'access tokens of their own')
  for (const app of apps) assert.equal(await app.me(replies[7]), 200)
  const next = await apps[1].refresh(replies[0])
  assert.equal(next.status, 200)
  assert.equal((await apps[0].refresh(next)).status, 200, 'the session goes on')
}

async function reuse({ start }) {
  const apps = await Promise.all([start(), start()])
  const first = await apps[0].login()
  const second = await apps[0].refresh(first)
  const again = await apps[1].refresh(first)
  assert.equal(again.refreshToken, second.refreshToken)
  const other = await apps[0].login()
  await sleep(grace * 1000 + 100)
  const stolen = await apps[1].refresh(first)
  assert.equal(stolen.status, 401)
  await isOver(apps, [first, second, again])
  assert.equal(await apps[0].me(other), 200, 'nobody else')
}

async function endWhileRefreshing({ start }) {
  const [one, two] = await Promise.all([start(), start()])
  const rounds = Array.from({ length: 30 }, async (_, round) => {
    const first = await one.login(`user ${round}`)
    const [refreshed, left] = await Promise.all([
      one.refresh(first),
      two.logout(first, round % 2 ? { everywhere: true } : undefined),
    ])
    assert.equal(left.status, 204)
    assert.match(String(refreshed.status), /^(?:200|401)$/)
    return refreshed.status === 200 ? [first, refreshed] : [first]
  })
  const pairs = (await Promise.all(rounds)).flat()
  await isOver([one, two], pairs)
}

async function killedProcess({ start }) {
  const [mortal, other] = await Promise.all([start(), start()])
  const first = await mortal.login()
  mortal.child.send('die after the next swap')
  await once(mortal.child, 'message')
  const lost = await mortal.refresh(first)
  assert.equal(lost.status, 0, 'no answer')
  if (mortal.child.signalCode === null) await once(mortal.child, 'exit')
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
  await isOver([one, two], [left])
  const clients = await Promise.all(
    Array.from({ length: 12 }, async (_, index) => ({
      pair: await one.login(`user ${index}`),
      refreshed: 0,
    })),
  )
  const load = { isOpen: true }
  const wrong = []
  const using = clients.map(async (client, index) => {
    while (load.isOpen) {
      const reply = await (index % 2 ? one : two).refresh(client.pair)
      if (reply.status === 200) {
        client.pair = reply
        client.refreshed += 1
      } else if (reply.status === 503) {
        assert.ok(Number(reply.retryAfter) > 0, 'when to come again')
        await sleep(50)
      } else {
        wrong.push(reply)
        return
      }
    }
  })
  await sleep(300)
  await server.kill()
  const { pair } = clients[0]
  const late = start()
  late.catch(() => undefined)
  const refused = await Promise.all([one.login(), one.refresh(pair), one.logout(pair)])
  assert.deepEqual(statusesOf(refused), [503], 'nothing is answered that could be forgotten')
  for (const app of [one, two]) {
    assert.equal(await app.me(pair), 200, 'access tokens go on')
    assert.equal(await app.me(left), 401, 'known ends hold')
    assert.notEqual((await app.refresh(left)).status, 200)
  }
  await sleep(300)
  await server.start()
  const third = await late
  const before = clients.map(({ refreshed }) => refreshed)
  await within(
    8,
    'everybody goes on',
    () => clients.every(({ refreshed }, index) => refreshed > before[index]) || wrong.length > 0,
  )
  load.isOpen = false
  await Promise.all(using)
  assert.deepEqual(wrong, [])
  await within(5, 'a process that has begun meanwhile knows what is ended', async () => {
    return (await third.me(clients[0].pair)) === 200
  })
  for (const app of [one, two, third]) {
    assert.equal(await app.me(left), 401)
    assert.equal((await app.refresh(left)).status, 401, 'nobody is let in')
  }
}

async function heldUp({ server, start }) {
  const app = await start()
  const left = await app.login('bob')
  await app.logout(left)
  const pairs = await Promise.all(
    Array.from({ length: 10 }, (_, index) => app.login(`user ${index}`)),
  )
  server.pause()
  const begin = performance.now()
  const refused = await Promise.all([
    ...pairs.map((pair) => app.refresh(pair)),
    app.login(),
    app.logout(pairs[0]),
  ])
  assert.deepEqual(statusesOf(refused), [503])
  assert.ok(performance.now() - begin < 7000, 'in bounded time')
  assert.equal(await app.me(pairs[0]), 200)
  assert.equal(await app.me(left), 401)
  server.resume()
  // Redis does now what it was asked in the meantime: the logout is made, what has passed its deadline is not.
  await within(3, 'it is over', async () => (await app.me(pairs[0])) === 401)
  for (const pair of pairs.slice(1)) {
    const next = await app.refresh(pair)
    assert.equal(next.status, 200, 'the token that the client still has')
    assert.equal((await app.refresh(next)).status, 200)
  }
  assert.equal((await app.refresh(left)).status, 401)
}

async function emptied({ server, start }) {
  const [one, two] = await Promise.all([start(), start()])
  const [left, stays] = [await one.login('bob'), await one.login()]
  await one.logout(left)
  await isOver([one, two], [left])
  await server.kill()
  rmSync(`${server.directory}/appendonlydir`, { recursive: true })
  await server.start()
  await within(5, 'sessions can begin again', async () => (await two.login()).status === 200)
  assert.equal((await one.refresh(stays)).status, 401, 'what is lost is over')
  await isOver([one, two], [left])
}
