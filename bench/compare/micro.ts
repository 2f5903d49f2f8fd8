import { Child } from '../support/child.js'
import { keys } from './keys.js'
import { table } from './markdown.js'
import { spreadOf } from './rounds.js'
import { peerAddress } from './server.js'

interface MicroResult {
  readonly algorithm: string
  readonly task: 'verify' | 'sign'
  readonly library: string
  /** Microseconds an operation, one for each round. */
  readonly times: readonly number[]
}

/** Verifies and signs, without any server: see `peers/micro.mjs`. */
export async function runMicro(options: {
  readonly rounds: number
  readonly milliseconds: number
}): Promise<string> {
  const child = await Child.start(peerAddress('micro'), { keys, ...options })
  const results = await child.ask<MicroResult[]>('run')
  await child.end()
  return (['verify', 'sign'] as const).map((task) => taskTable(task, results)).join('\n\n')
}

/** A row for each library, a column for each algorithm. */
function taskTable(task: MicroResult['task'], all: readonly MicroResult[]): string {
  const results = all.filter((result) => result.task === task)
  const algorithms = [...new Set(results.map(({ algorithm }) => algorithm))]
  const libraries = [...new Set(results.map(({ library }) => library))]
  const cell = (library: string, algorithm: string): string => {
    const result = results.find((one) => one.library === library && one.algorithm === algorithm)
    if (result === undefined) return ''
    const { median, low, high } = spreadOf(result.times)
    return `**${median.toFixed(1)}** (${low.toFixed(1)}–${high.toFixed(1)})`
  }
  return table(
    [`${task}, µs`, ...algorithms],
    libraries.map((library) => [library, ...algorithms.map((one) => cell(library, one))]),
  )
}
