// Several processes of fastify-authn behind one port.
import cluster from 'node:cluster'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { cpu, serve, settings } from './serve.mjs'

cluster.setupPrimary({
  exec: fileURLToPath(new URL('ours.mjs', import.meta.url)),
  args: [JSON.stringify(settings)],
})

async function fork() {
  const worker = cluster.fork()
  const [{ port }] = await once(worker, 'listening')
  return { worker, port }
}

const running = await Promise.all(Array.from({ length: settings.processes }, fork))

async function cpuOf({ worker }) {
  const answered = once(worker, 'message')
  worker.send({ id: 0, question: 'cpu' })
  const [{ answer }] = await answered
  return answer
}

async function cpuOfAll() {
  const all = await Promise.all(running.map(cpuOf))
  return all.reduce((sum, one) => sum + one, cpu())
}

serve(running[0].port, { cpu: cpuOfAll })
