// program: its own
// Processes whose keys rotate while they are used: by the command line, with consumers of their key sets.
import { fork, type ChildProcess } from 'node:child_process'
import { readFileSync } from 'node:fs'
import path from 'node:path'
import { setTimeout as later } from 'node:timers/promises'
import { createRemoteJWKSet, decodeProtectedHeader, jwtVerify } from 'jose'
import t, { type Test } from 'tap'
import { bearer } from '../helpers/app.js'
import { cli } from '../helpers/cli.js'
import { send, type AnyResponse } from '../helpers/flows.js'
import { until } from '../helpers/load.js'
import { programOf } from '../helpers/project.js'
import type { AuthnStats } from '../../lib/index.js'
import type { KeyFileEntry } from '../../types/keys.js'

const entriesOf = (file: string) => JSON.parse(readFileSync(file, 'utf8')) as KeyFileEntry[]
const kidOf = (token: string): string | undefined => decodeProtectedHeader(token).kid
/** The `kid` of the keys in a state. */
const inState = (file: string, state: string): (string | undefined)[] =>
  entriesOf(file)
    .filter((entry) => entry.state === state)
    .map(({ kid }) => kid)

/** How long a consumer keeps a key set, in milliseconds: `--settle` has to be longer. */
const kept = 500

class Server {
  readonly #port: number
  /** The keys with which it has signed so far. */
  readonly signedWith = new Set<string | undefined>()
  readonly keySet: ReturnType<typeof createRemoteJWKSet>

  private constructor(port: number) {
    this.#port = port
    // The defaults of jose, only shorter: it asks again for a set that is old, and seldom for an unknown kid.
    const url = new URL(`http://127.0.0.1:${port}/.well-known/jwks.json`)
    this.keySet = createRemoteJWKSet(url, { cacheMaxAge: kept, cooldownDuration: 30_000 })
  }

  static async start(t: Test, file: string, reloadEvery: number): Promise<Server> {
    const child: ChildProcess = fork(programOf('test/helpers/key-set-app.ts'), {
      env: { ...process.env, TEST_KEY_SET: file, TEST_RELOAD_EVERY: String(reloadEvery) },
    })
    const exit = new Promise<void>((resolve) => child.once('exit', () => resolve()))
    t.teardown(async () => {
      if (child.connected) child.disconnect()
      await exit
    })
    const port = await new Promise<number>((resolve, reject) => {
      child.once('message', (message) => resolve(message as number))
      void exit.then(() => reject(new Error('it ended')))
    })
    return new Server(port)
  }

  get(path: string): Promise<AnyResponse> {
    return send(this.#port, { path })
  }

  async post(path: string): Promise<void> {
    const { statusCode, body } = await send(this.#port, { path, method: 'POST' })
    if (statusCode !== 200) throw new Error(`${path}: ${statusCode} ${body}`)
  }

  async login(): Promise<string> {
    const { statusCode, body } = await send(this.#port, {
      method: 'POST',
      path: '/login',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ username: 'alice', password: 'password of alice' }),
    })
    if (statusCode !== 200) throw new Error(`login: ${statusCode} ${body}`)
    const { token } = JSON.parse(body) as { token: string }
    this.signedWith.add(kidOf(token))
    return token
  }

  /** The status of a request with a token. */
  async statusOf(token: string): Promise<number> {
    return (await send(this.#port, { path: '/me', headers: bearer(token) })).statusCode
  }

  async stats(): Promise<AuthnStats> {
    return JSON.parse((await this.get('/stats')).body) as AuthnStats
  }
}

/** Logs in and uses the tokens, new and old ones, at all servers, until it is told to stop. */
class Load {
  readonly rejections: string[] = []
  accepted = 0
  /** Tokens that a server took although it did not sign with their key yet. */
  ahead = 0
  verified = 0
  readonly #servers: readonly Server[]
  readonly #tokens: string[] = []
  #isStopped = false
  readonly #work: Promise<unknown>

  constructor(servers: readonly Server[]) {
    this.#servers = servers
    this.#work = Promise.all(servers.map((server) => this.#run(server)))
  }

  async stop(): Promise<void> {
    this.#isStopped = true
    await this.#work
  }

  async #run(server: Server): Promise<void> {
    while (!this.#isStopped) {
      const token = await server.login()
      this.#tokens.push(token)
      const earlier = this.#tokens[Math.floor(Math.random() * this.#tokens.length)] as string
      for (const each of [token, earlier]) {
        for (const other of this.#servers) await this.#use(other, each)
      }
      for (const { keySet } of this.#servers) {
        await jwtVerify(token, keySet).then(
          () => (this.verified += 1),
          (error: Error) => this.rejections.push(`consumer: ${error.message}`),
        )
      }
      await later(5)
    }
  }

  async #use(server: Server, token: string): Promise<void> {
    const isAhead = !server.signedWith.has(kidOf(token))
    const status = await server.statusOf(token)
    if (status === 200) this.accepted += 1
    else this.rejections.push(`${status} for ${kidOf(token)}`)
    if (status === 200 && isAhead) this.ahead += 1
  }
}

t.test('no token is rejected in two processes under load, while keys rotate', async (t) => {
  const file = path.join(t.testdir(), 'keys.json')
  t.equal((await cli(['keys', 'init', 'ES256', '--key-set', file])).exit, 0)
  // The first one reads the key set by itself, the second one when it is told: it is always behind.
  const [first, second] = await Promise.all([Server.start(t, file, 0.2), Server.start(t, file, 0)])
  const servers = [first, second]
  const load = new Load(servers)
  for (let rotation = 1; rotation <= 3; rotation += 1) {
    const words = ['keys', 'rotate', '--key-set', file]
    words.push(...'--settle 1 --lag 10 --life 60'.split(' '))
    await until(async () => (await cli(words)).exit === 0, 'the key set may be rotated')
    const [signs] = inState(file, 'sign')
    await until(() => first.signedWith.has(signs), 'the first one signs with the new key')
    t.notOk(second.signedWith.has(signs))
    const { accepted, ahead } = load
    await until(() => load.accepted >= accepted + 20, 'both are used, one behind the other')
    t.ok(load.ahead > ahead, 'the second one takes tokens of the key that is next for it')
    await second.post('/reload')
    await until(() => second.signedWith.has(signs), 'the second one signs with the new key')
    // From here on no consumer has the set of before any more.
    await later(kept + 100)
  }
  await load.stop()
  t.strictSame(load.rejections, [])
  t.ok(load.verified > 50 && load.accepted > 100, `${load.accepted} accepted`)
  t.comment(`${load.accepted} accepted, ${load.ahead} of them ahead, ${load.verified} by consumers`)
  for (const server of servers) t.match((await server.stats()).keys, { size: 5, failures: 0 })
})
