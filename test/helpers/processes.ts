import { fork } from 'node:child_process'
import type { AddressInfo } from 'node:net'
import type { FastifyInstance } from 'fastify'
import type { Test } from 'tap'
import { answerOf, type Headers } from './client.js'
import { send } from './flows.js'
import { nodeArguments, programOf } from './project.js'

/** For a program that a test starts: listens, and tells its port. By default it ends with its parent. */
export async function serve(
  app: FastifyInstance,
  end: () => unknown = () => process.exit(),
): Promise<void> {
  await app.listen({ host: '127.0.0.1', port: 0 })
  process.send?.((app.server.address() as AddressInfo).port)
  process.once('disconnect', end)
}

/** An app in a process of its own, which ends with the test. @param name - of its file beside this one */
export async function startProcess(t: Test, name: string, env: Record<string, string>) {
  const child = fork(programOf(`test/helpers/${name}.ts`), {
    execArgv: [...nodeArguments],
    env: { ...process.env, ...env },
  })
  t.teardown(() => void child.kill('SIGKILL'))
  const port = await new Promise<number>((resolve, reject) => {
    child.once('message', (message) => resolve(message as number))
    child.once('exit', (code) => reject(new Error(`ended with ${code}`)))
  })
  const post = (path: string, body: object = {}, headers: Headers = {}) => {
    const given = { 'content-type': 'application/json', ...headers }
    return send(port, { method: 'POST', path, headers: given, body: JSON.stringify(body) })
  }
  return {
    child,
    port,
    post,
    ask: async (...request: Parameters<typeof post>) => answerOf(await post(...request)),
    get: (path: string, headers: Headers = {}) => send(port, { path, headers }),
  }
}
