import { thisMachine, type Files, type Machine } from '../../lib/cli/ring/files.js'
import { rotateRing } from '../../lib/cli/ring/ring-file.js'

/** The step at which all stops, and what stops it. Of what this step was to write, half is written. */
export interface Stop {
  readonly at: number
  now(): Promise<never>
}

/**
 * Rotates a ring, and stops at the start of a step of it.
 *
 * @param told - is given the name of each step: of each use of the disk
 */
export async function rotateBySteps(
  file: string,
  machine: Partial<Machine>,
  told: (name: string) => void,
  stop?: Stop,
): Promise<void> {
  let step = 0
  /** Every method of an object counts as a step, and those of what it returns too. */
  const counted = <T extends object>(target: T): T =>
    new Proxy(target, {
      get(_, name) {
        const method: unknown = Reflect.get(target, name)
        if (typeof method !== 'function') return method
        return async (...words: unknown[]) => {
          step += 1
          told(String(name))
          if (step === stop?.at) {
            if (name === 'writeFile') await writeHalf(target, words)
            await stop.now()
          }
          const result: unknown = await Reflect.apply(method, target, words)
          return name === 'open' ? counted(result as object) : result
        }
      },
    })
  const files: Files = counted({ ...thisMachine.files, ...machine.files })
  const rotation = { alg: undefined, life: 60, lag: 60, settle: 0 }
  await rotateRing({ ...thisMachine, ...machine, files }, file, rotation, {})
}

async function writeHalf(target: object, [text]: unknown[]): Promise<void> {
  const half = String(text).slice(0, String(text).length / 2)
  await (target as { writeFile(text: string): Promise<void> }).writeFile(half)
}
