// What tests of the demo start. Apart from the rest of this folder: it says what a user is, and that counts in the whole
// program.
import type { FastifyInstance } from 'fastify'
import type { Test } from 'tap'
import { buildApp } from '../demo/app.js'
import { readSettings, type Settings } from '../demo/config.js'
import { openDatabase } from '../demo/database.js'

export const secret = 'demo-secret-demo-secret-demo-sec'
export const admin = { name: 'root', password: "it's a secret" }

/** Environment variables of a demo that logs nothing. */
export function environment(
  keysDir: string,
  more: Record<string, string> = {},
): Record<string, string> {
  return {
    LOG_LEVEL: 'silent',
    DEMO_KEYS_DIR: keysDir,
    AUTH_JWT_SECRET: secret,
    AUTH_BASIC_USERNAME: admin.name,
    AUTH_BASIC_PASSWORD: admin.password,
    ...more,
  }
}

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

/** The algorithm of a token, as its header says: RFC 7515 §4. */
export function algorithmOf({ authorization }: { authorization: string }): string {
  const [header = ''] = authorization.slice('Bearer '.length).split('.')
  return (JSON.parse(Buffer.from(header, 'base64url').toString()) as { alg: string }).alg
}
