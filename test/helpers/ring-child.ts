// A process that rotates a ring, and is killed at the start of a step of it. Started by test/cli/ring/crash.test.ts.
import { rotateBySteps } from './ring-steps.js'

const [file = '', killedAt = '0'] = process.argv.slice(2)
await rotateBySteps(file, {}, (name) => process.stdout.write(`${name}\n`), {
  at: Number(killedAt),
  now() {
    process.kill(process.pid, 'SIGKILL')
    return new Promise(() => undefined)
  },
})
