// Apart from the other helpers of the demo: it says what a user is, and that counts in the whole program.
import type { FastifyInstance } from 'fastify'
import type { Test } from 'tap'
import { buildApp } from '../../examples/demo/app.js'
import { readSettings, type Settings } from '../../examples/demo/config.js'
import { openDatabase } from '../../examples/demo/database.js'

/** The settings of a demo with cheap passwords. */
export const settingsFor = (env: Record<string, string>): Settings => ({
  ...readSettings(env),
  passwordCost: 5,
})

/** Builds the demo over a database of its own. */
export async function startDemo(t: Test, env: Record<string, string>): Promise<FastifyInstance> {
  const settings = settingsFor(env)
  const app = await buildApp(settings, await openDatabase(settings))
  t.teardown(() => app.close())
  return app
}
