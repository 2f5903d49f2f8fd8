import { spawn, spawnSync, type ChildProcess } from 'node:child_process'
import { chownSync, mkdtempSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { setTimeout as later } from 'node:timers/promises'
import { Pool, type PoolConfig } from 'pg'
import { until } from './load.js'
import { findProgram } from './programs.js'
import { freePort } from './redis-server.js'

/** PostgreSQL does not run as root; its package has made this user. Null: the user of the test. */
function postgresUser(): { uid: number; gid: number } | null {
  if (process.getuid?.() !== 0) return null
  const id = (kind: string): number => Number(spawnSync('id', [kind, 'postgres']).stdout)
  return { uid: id('-u'), gid: id('-g') }
}

/**
 * Starts a PostgreSQL of the test's own, on a port of the loopback interface that stays the same, and ends it with the test.
 *
 * @param options - `durable`: what it has answered would survive the machine, which takes longer
 */
export async function postgresServer(
  t: { teardown(end: () => Promise<void>): void },
  { durable = false }: { durable?: boolean } = {},
) {
  const initdb = findProgram('PostgreSQL')
  if (initdb === null) throw new Error('There is no initdb on PATH.')
  const bin = dirname(realpathSync(initdb))
  const account = postgresUser()
  const user = account ?? {}
  const folder = mkdtempSync(join(tmpdir(), 'fastify-authn-postgres-'))
  if (account !== null) chownSync(folder, account.uid, account.gid)
  const data = join(folder, 'data')
  const made = spawnSync(
    join(bin, 'initdb'),
    ['-D', data, '-A', 'trust', '-U', 'test', '-E', 'UTF8', '--locale=C', '--no-sync'],
    { ...user, cwd: folder, encoding: 'utf8' },
  )
  if (made.status !== 0) throw new Error(`initdb: ${made.stderr}`)
  const port = await freePort()
  const url = `postgres://test@127.0.0.1:${port}/postgres`
  const pools: Pool[] = []
  let child: ChildProcess | null = null
  const fsync = durable ? 'on' : 'off'
  const words = `-D ${data} -p ${port} -h 127.0.0.1 -k ${folder} -c fsync=${fsync}`.split(' ')
  const launch = (): ChildProcess =>
    spawn(join(bin, 'postgres'), words, { ...user, cwd: folder, stdio: 'ignore' })

  const server = {
    port,
    url,
    async start(): Promise<void> {
      const probe = server.pool({ max: 1 })
      await until(async () => {
        // After a kill it cannot start before the last of its processes has seen that.
        if (child === null || child.exitCode !== null) child = launch()
        return probe.query('SELECT 1').then(
          () => true,
          () => later(20).then(() => false),
        )
      }, 'PostgreSQL answers')
    },
    /** At once, as when the machine goes down. */
    async kill(): Promise<void> {
      const ending = child
      if (ending?.pid === undefined) return
      child = null
      const ended = new Promise((resolve) => ending.once('exit', resolve))
      ending.kill('SIGKILL')
      await ended
    },
    /** A pool of connections, which is closed with the test. */
    pool(config: PoolConfig = {}): Pool {
      const pool = new Pool({ connectionString: url, ...config })
      // A connection that is cut while nobody uses it is told here.
      pool.on('error', () => undefined)
      pools.push(pool)
      return pool
    },
  }
  // Where a program ends without its teardowns.
  const atExit = (): void => void child?.kill('SIGKILL')
  process.once('exit', atExit)
  t.teardown(async () => {
    await Promise.all(pools.map((pool) => pool.end()))
    process.off('exit', atExit)
    await server.kill()
    rmSync(folder, { recursive: true, force: true })
  })
  await server.start()
  return server
}
