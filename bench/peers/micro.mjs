// Verifies and signs with several libraries in turn, and measures how long one operation takes.
import { algorithmsOf } from './micro-cases.mjs'
import { answer, settings } from './serve.mjs'

const { rounds, milliseconds } = settings

/** @returns microseconds an operation, over a slice of time */
async function time(operate) {
  const started = performance.now()
  let count = 0
  let elapsed = 0
  while (elapsed < milliseconds) {
    // Whatever returns no promise is not to pay for one.
    for (let index = 0; index < 8; index += 1) {
      const result = operate()
      if (result instanceof Promise) await result
    }
    count += 8
    elapsed = performance.now() - started
  }
  return (elapsed * 1000) / count
}

async function measure(cases) {
  const times = cases.map(() => [])
  // The first one is for the compiler.
  for (let round = -1; round < rounds; round += 1) {
    for (const [index, { operate }] of cases.entries()) {
      const found = await time(operate)
      if (round >= 0) times[index].push(found)
    }
  }
  return cases.map(({ algorithm, task, library }, index) => ({
    algorithm,
    task,
    library,
    times: times[index],
  }))
}

async function run() {
  const results = []
  for (const cases of await algorithmsOf(settings.keys)) results.push(...(await measure(cases)))
  return results
}

answer({ ready: () => true, run })
