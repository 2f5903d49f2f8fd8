// Folders of @fastify/autoload: everything is closed, a file opens itself, and a folder has a mark of its own.
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import autoload from '@fastify/autoload'
import Fastify, { type FastifyInstance } from 'fastify'
// Only loaded here: the package has to be loaded before `Fastify()` is called, whatever is in plugins/.
import 'fastify-authn'
import { bearer, isProgram, loginTip, start } from '../support/start.js'

const folder = (name: string): string => join(fileURLToPath(new URL('.', import.meta.url)), name)

export async function buildApp(): Promise<FastifyInstance> {
  const app = Fastify()
  // plugins/authn.ts registers the plugin, for the whole app, with `auth: true`.
  await app.register(autoload, { dir: folder('plugins') })
  // No mark here: what stands in `options` wins over the `autoConfig` of every file, and routes/health.ts
  // would not be open.
  await app.register(autoload, { dir: folder('routes') })
  // Here that is what is wanted: no file of the folder can open itself as a whole.
  await app.register(autoload, {
    dir: folder('admin'),
    options: { prefix: '/admin', auth: { use: 'configBasic' } },
  })
  return app
}

if (isProgram(import.meta.url)) {
  await start(
    await buildApp(),
    'curl -i $URL/health',
    loginTip('alice', 'wonderland-1865'),
    `curl -i $URL/notes ${bearer}`,
    'curl -i $URL/notes',
    'curl -i $URL/admin/stats -u "admin:$AUTH_BASIC_PASSWORD"',
  )
}
