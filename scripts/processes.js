// Starts Node processes, some at a time, and ends them with the one that has started them.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'

export const root = fileURLToPath(new URL('../', import.meta.url))

const running = new Set()
const ending = new AbortController()
for (const signal of ['SIGINT', 'SIGTERM']) {
  process.once(signal, () => {
    ending.abort()
    process.exitCode = 1
    for (const child of running) child.kill(signal)
  })
}

/** Runs `node ...args` in the root of the project. @returns its exit code or signal, and its seconds as text */
export async function runNode(args, { node = process.execPath, ...options }) {
  const start = performance.now()
  const child = spawn(node, args, { cwd: root, ...options })
  running.add(child)
  const [code, signal] = await once(child, 'exit')
  running.delete(child)
  return { code: code ?? signal, seconds: ((performance.now() - start) / 1000).toFixed(1) }
}

/** Does `work` for each of `items`, in their order, for so many of them at a time. */
export async function severalAtATime(count, items, work) {
  const queue = [...items]
  const worker = async () => {
    while (queue.length > 0 && !ending.signal.aborted) await work(queue.shift())
  }
  await Promise.all(Array.from({ length: count }, worker))
}
