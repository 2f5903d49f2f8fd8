// program: redis
import { fork, type ChildProcess } from 'node:child_process'
import { Redis } from 'ioredis'
import t, { type Test } from 'tap'
import { appWith, basic, logLines, passwords, standardOptions } from '../helpers/app.js'
import { isRejection, send, type AnyResponse } from '../helpers/flows.js'
import { fateOf, login, retryAfterOf, settle, tooMany, until } from '../helpers/load.js'
import { programOf } from '../helpers/project.js'
import { unlessFound } from '../helpers/programs.js'
import { redisServer, type RedisServer } from '../helpers/redis-server.js'

const skip = unlessFound('Redis')

interface AppProcess {
  readonly child: ChildProcess
  readonly login: (username: string, password: string) => Promise<AnyResponse>
  readonly enter: (username: string, password: string) => Promise<AnyResponse>
  /** What it has logged at level warn and above. */
  readonly lines: () => Promise<Record<string, unknown>[]>
  readonly redisStatus: () => Promise<string>
  /** Ends it. @returns its exit code */
  readonly end: () => Promise<number | null>
}

/** Another process, in which TypeScript is loaded as in this one. */
async function startProcess(t: Test, redis: RedisServer): Promise<AppProcess> {
  const child = fork(programOf('test/helpers/redis-app.ts'), {
    env: { ...process.env, TEST_REDIS_PORT: String(redis.port) },
  })
  const exit = new Promise<number | null>((resolve) => child.once('exit', resolve))
  t.teardown(() => void child.kill())
  const port = await new Promise<number>((resolve, reject) => {
    child.once('message', (message) => resolve(message as number))
    void exit.then((code) => reject(new Error(`ended with ${code}`)))
  })
  const get = async (path: string): Promise<string> => (await send(port, { path })).body
  return {
    child,
    login: (username, password) =>
      send(port, {
        method: 'POST',
        path: '/login',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ username, password }),
      }),
    enter: (username, password) => send(port, { path: '/', headers: basic(username, password) }),
    lines: async () => JSON.parse(await get('/lines')) as Record<string, unknown>[],
    redisStatus: () => get('/redis'),
    end: () => {
      child.disconnect()
      return exit
    },
  }
}

const right = (name: string): [string, string] => [name, `password of ${name}`]
const throttled = { status: 429, error: tooMany, challenge: null }
const isAbout = (line: Record<string, unknown>): boolean =>
  String(line.msg).startsWith('Redis does not count failed attempts')

/** Waits until a process has a connection to Redis, or has seen that there is none. */
async function redisIs(processes: readonly AppProcess[], ready: boolean): Promise<void> {
  for (const process of processes) {
    await until(
      async () => ((await process.redisStatus()) === 'ready') === ready,
      `its connection is ${ready ? 'there' : 'gone'}`,
    )
  }
}

t.test('two processes share counters in Redis, and count alone without it', { skip }, async (t) => {
  const redis = await redisServer(t)
  const both = await Promise.all([startProcess(t, redis), startProcess(t, redis)])
  const [a, b] = both
  t.not(a.child.pid, b.child.pid)
  await redisIs(both, true)

  await t.test('the 11th guess gets a 429 from either process', async (t) => {
    for (let count = 0; count < 10; count += 1) {
      const { statusCode } = await (both[count % 2] as AppProcess).login('alice', `guess ${count}`)
      t.equal(statusCode, 401)
    }
    for (const { login, enter } of both) {
      for (const ask of [login, enter]) {
        const response = await ask(...right('alice'))
        isRejection(t, response, throttled)
        t.ok(retryAfterOf(response) > 0 && retryAfterOf(response) <= 900)
      }
      t.equal((await login(...right('bob'))).statusCode, 200, 'other names are not affected')
    }
  })

  await t.test('a success resets its name in both processes', async (t) => {
    for (let count = 0; count < 9; count += 1) {
      t.equal((await a.login('bob', `guess ${count}`)).statusCode, 401)
    }
    t.equal((await b.login(...right('bob'))).statusCode, 200)
    for (let count = 0; count < 9; count += 1) {
      t.equal((await b.login('bob', `guess ${count}`)).statusCode, 401)
    }
    t.equal((await a.login(...right('bob'))).statusCode, 200)
  })

  await t.test('each process counts alone when Redis is killed, and logs it once', async (t) => {
    for (let count = 0; count < 4; count += 1) {
      t.equal((await a.login('carol', `guess ${count}`)).statusCode, 401)
    }
    // Requests are on their way while it goes.
    const during = both.flatMap(({ login }) =>
      ['dave', 'dave', 'dave'].map((name) => login(...right(name))),
    )
    await redis.kill()
    for (const response of await Promise.all(during)) t.equal(response.statusCode, 200)
    await redisIs(both, false)

    for (let count = 4; count < 10; count += 1) {
      t.equal((await a.login('carol', `guess ${count}`)).statusCode, 401)
    }
    isRejection(t, await a.login(...right('carol')), throttled, 'all that it has seen itself')
    t.equal((await b.login(...right('carol'))).statusCode, 200, 'the other one has seen nothing')
    t.equal((await a.login(...right('dave'))).statusCode, 200)
    t.equal((await a.enter(...right('dave'))).statusCode, 200)
    for (const process of both) {
      const about = (await process.lines()).filter(isAbout)
      t.equal(about.length, 1, 'one line, not one a request')
      t.equal(about[0]?.level, 50)
    }
  })

  await t.test('both processes end with status 0 and no other errors in the log', async (t) => {
    for (const process of both) {
      const errors = (await process.lines()).filter(({ level, msg }) => {
        return Number(level) >= 50 && !isAbout({ msg })
      })
      t.strictSame(errors, [])
      t.equal(process.child.exitCode, null, 'it still runs')
      t.equal(await process.end(), 0)
    }
  })
})

const settings = {
  'retries for ever': { maxRetriesPerRequest: null, retryStrategy: () => 20 },
  'has no offline queue': { offlineQueue: false, retryStrategy: () => 20 },
  'gives up': { retryStrategy: () => null },
  'connects when it is used': { lazyConnect: true },
}

for (const [name, options] of Object.entries(settings)) {
  t.test(`logins are answered without Redis if its client ${name}`, { skip }, async (t) => {
    const redis = await redisServer(t)
    const client = new Redis(redis.port, '127.0.0.1', options)
    t.teardown(() => client.disconnect())
    client.on('error', () => undefined)
    const { lines, stream } = logLines()
    const unhandled: unknown[] = []
    const note = (reason: unknown): void => void unhandled.push(reason)
    process.on('unhandledRejection', note)
    t.teardown(() => process.off('unhandledRejection', note))
    const throttle = { redis: client, perUsername: 4, keyPrefix: 'test' }
    const server = { logger: { level: 'error', stream } }
    const app = await appWith(t, { ...standardOptions(), throttle }, undefined, server)
    const status = async (username: string, password: string): Promise<number> =>
      (await login(app, username, password)).statusCode
    if (!('lazyConnect' in options)) await until(() => client.status === 'ready', 'it is connected')
    t.equal(await status('alice', 'guess'), 401)
    await redis.kill()
    await until(() => client.status !== 'ready', 'it has seen that Redis is gone')

    const tries = [['alice', passwords.alice] as const, ['nobody', 'guess'] as const]
    const logins = [...tries, ...tries].map(([name, password]) => status(name, password))
    const all = fateOf(Promise.all(logins))
    await until(() => all.state !== 'pending', 'they are answered')
    t.strictSame(all.value, [200, 401, 200, 401])
    for (let count = 0; count < 4; count += 1) t.equal(await status('alice', `guess ${count}`), 401)
    isRejection(t, await login(app, 'alice', passwords.alice), throttled, 'counted alone')
    t.match(lines, [{ level: 50 }])
    t.equal(lines.length, 1, 'one line for all of it')
    client.disconnect()
    await settle(10)
    t.equal(await status('bob', 'guess'), 401, 'also when the app has closed it')
    await settle(10)
    t.strictSame(unhandled, [])
  })
}
