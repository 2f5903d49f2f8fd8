// A process that rotates a ring, and is killed at the start of a step of it. Started by test/cli/ring/crash.test.ts.
import { thisMachine, type Files } from '../../lib/cli/ring/files.js'
import { rotateRing } from '../../lib/cli/ring/ring-file.js'

const [file = '', killedAt = '0'] = process.argv.slice(2)
let step = 0

/** Every method of an object counts as a step, and those of what it returns too. */
function counted<T extends object>(target: T): T {
  return new Proxy(target, {
    get(_, name) {
      const method: unknown = Reflect.get(target, name)
      if (typeof method !== 'function') return method
      return async (...words: unknown[]) => {
        step += 1
        process.stdout.write(`${step} ${String(name)}\n`)
        if (step === Number(killedAt)) await die(target, name, words)
        const result: unknown = await Reflect.apply(method, target, words)
        return name === 'open' ? counted(result as object) : result
      }
    },
  })
}

/** Of what is to be written, half is. */
async function die(target: object, name: string | symbol, [text]: unknown[]): Promise<void> {
  if (name === 'writeFile') {
    const half = String(text).slice(0, String(text).length / 2)
    await (target as { writeFile(text: string): Promise<void> }).writeFile(half)
  }
  process.kill(process.pid, 'SIGKILL')
}

const files: Files = counted({ ...thisMachine.files })
await rotateRing(
  { ...thisMachine, files },
  file,
  { alg: undefined, life: 60, lag: 60, settle: 0 },
  {},
)
