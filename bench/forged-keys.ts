// What 10,000 pipelined forged API keys over one connection, which is then closed, cost another client: see README.md.
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { Agent, request } from 'node:http'
import { connect, type AddressInfo } from 'node:net'
import { setTimeout as later } from 'node:timers/promises'
import Fastify from 'fastify'
import { memoryApiKeys } from '../lib/api-keys/index.js'
import { newKey } from '../lib/api-keys/key.js'
import { authn, type ApiKeyStore } from '../lib/index.js'
import { numberFlags } from './support/flags.js'
import { printTable } from './support/report.js'

const { ROLE: role, PORT: portOfServer } = process.env
const flags = numberFlags({ forged: 10_000, connections: 10, delay: 5, rate: 100, seconds: 10 })
const about = { owner: 'alice', name: 'job', scopes: [], expiresAt: null }
const newText = (): string => newKey('bench', about).issued.key

/** A store with as many connections as a pool has, each of which takes some milliseconds. */
function pooled(store: ApiKeyStore): ApiKeyStore {
  const waiting: (() => void)[] = []
  let free = flags.connections
  return {
    ...store,
    async find(id) {
      if (free > 0) free -= 1
      else await new Promise<void>((resolve) => waiting.push(resolve))
      await later(flags.delay)
      const next = waiting.shift()
      if (next === undefined) free += 1
      else next()
      return store.find(id)
    },
  }
}

async function serve(): Promise<void> {
  const app = Fastify()
  const factory = memoryApiKeys()
  await app.register(authn, {
    userService: { findByUsername: (name) => ({ name }) },
    apiKeys: {
      prefix: 'bench',
      cache: false,
      store: { ...factory, open: (name) => pooled(factory.open(name)) },
    },
  })
  app.get('/', { config: { auth: { use: 'apiKey' } } }, () => 'ok')
  await app.listen({ host: '127.0.0.1', port: 0 })
  const keys = await Promise.all(Array.from({ length: 50 }, () => app.authn.apiKeys.issue(about)))
  const { port } = app.server.address() as AddressInfo
  process.send?.({ port, keys: keys.map(({ key }) => key) })
}

async function flood(port: number): Promise<void> {
  const texts = Array.from(
    { length: flags.forged },
    () => `GET / HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${newText()}\r\n\r\n`,
  )
  process.send?.('ready')
  await once(process, 'message')
  const socket = connect({ port, host: '127.0.0.1' })
  socket.on('error', () => undefined)
  socket.write(texts.join(''), () => void setTimeout(() => socket.destroy(), 500))
}

const agent = new Agent({ keepAlive: true, maxSockets: 64, localAddress: '127.0.0.2' })

function ask(port: number, key: string): Promise<{ status: number; time: number }> {
  const start = performance.now()
  return new Promise((resolve, reject) => {
    const headers = { authorization: `Bearer ${key}` }
    const sent = request({ port, host: '127.0.0.1', agent, headers }, (response) => {
      response.resume().on('end', () => {
        resolve({ status: Number(response.statusCode), time: performance.now() - start })
      })
    })
    sent.on('error', reject).end()
  })
}

async function measure(): Promise<void> {
  const file = process.argv[1] as string
  const start = (env: NodeJS.ProcessEnv) =>
    fork(file, process.argv.slice(2), { env: { ...process.env, ...env } })
  const server = start({ ROLE: 'server' })
  const [{ port, keys }] = (await once(server, 'message')) as [{ port: number; keys: string[] }]
  const attacker = start({ ROLE: 'flood', PORT: `${port}` })
  await once(attacker, 'message')
  const rows = [['', 'requests', 'p50 ms', 'p99 ms', 'longest', '503']]
  for (const name of ['warm-up', 'idle', 'flood']) {
    const answers: Promise<{ status: number; time: number }>[] = []
    for (let count = 0; count < flags.rate * flags.seconds; count++) {
      if (name === 'flood' && count === flags.rate) attacker.send('go')
      answers.push(ask(port, keys[count % keys.length] as string))
      await later(1000 / flags.rate)
    }
    const all = await Promise.all(answers)
    const times = all.map(({ time }) => time).toSorted((one, other) => one - other)
    const at = (share: number): string => Number(times[Math.floor(times.length * share)]).toFixed(1)
    const busy = all.filter(({ status }) => status !== 200).length
    rows.push([name, `${all.length}`, at(0.5), at(0.99), at(0.9999), `${busy}`])
  }
  printTable(rows)
  for (const child of [server, attacker]) child.kill()
  agent.destroy()
}

if (role === 'server') await serve()
else if (role === 'flood') await flood(Number(portOfServer))
else await measure()
