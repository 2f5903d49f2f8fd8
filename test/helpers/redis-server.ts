import { spawn, type ChildProcess } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer, type AddressInfo, connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { until } from './until.js'

/**
 * Starts a Redis of the test's own, on a port of the loopback interface that stays the same, and ends it with the test.
 *
 * @param options - `persistent`: what it has answered is still there after `kill()` and `start()`; `'everysec'`: but
 * for the last second, as by default
 */
export async function redisServer(
  t: { teardown(end: () => Promise<void>): void },
  { persistent = false }: { persistent?: boolean | 'everysec' } = {},
) {
  const fsync = persistent === true ? 'always' : 'everysec'
  const persistence = persistent === false ? 'no' : `yes --appendfsync ${fsync}`
  const directory = mkdtempSync(join(tmpdir(), 'fastify-authn-redis-'))
  let port = await freePort()
  let wasUp = false
  let child: ChildProcess | null = null

  const server = {
    get port() {
      return port
    },
    /** Where it keeps what it saves. */
    directory,
    async start(): Promise<void> {
      const options = `--port ${port} --bind 127.0.0.1 --appendonly ${persistence} --dir ${directory}`
      const started = spawn('redis-server', [...options.split(' '), '--save', ''], {
        stdio: 'ignore',
      })
      child = started
      let isGone = false
      started.once('exit', () => (isGone = true))
      await until(async () => isGone || (await answers(port)), 'Redis answers')
      if (!isGone) return
      // Another process has taken the port meanwhile.
      if (wasUp) throw new Error('Redis has ended')
      port = await freePort()
      await server.start()
    },
    /** At once, as when the machine goes down. */
    async kill(): Promise<void> {
      const ending = child
      if (ending === null) return
      child = null
      const ended = new Promise((resolve) => ending.once('exit', resolve))
      ending.kill('SIGKILL')
      await ended
    },
    /** Stops it from answering, while its connections stay. */
    pause: () => void child?.kill('SIGSTOP'),
    resume: () => void child?.kill('SIGCONT'),
  }
  t.teardown(async () => {
    await server.kill()
    rmSync(directory, { recursive: true, force: true })
  })
  await server.start()
  wasUp = true
  return server
}

export type RedisServer = Awaited<ReturnType<typeof redisServer>>

/** A port on which no server listens. */
export async function freePort(): Promise<number> {
  const probe = createServer()
  await new Promise<void>((resolve) => probe.listen(0, '127.0.0.1', resolve))
  const { port } = probe.address() as AddressInfo
  await new Promise((resolve) => probe.close(resolve))
  return port
}

/** Whether Redis answers PING. */
function answers(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1', () => socket.write('PING\r\n'))
    socket.on('data', (data) => {
      resolve(data.toString().startsWith('+PONG'))
      socket.destroy()
    })
    socket.on('error', () => resolve(false))
    socket.on('close', () => resolve(false))
  })
}
