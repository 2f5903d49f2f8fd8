import formbody from '@fastify/formbody'
import Fastify, { type FastifyError, type FastifyInstance } from 'fastify'
import { authn } from 'fastify-authn'
import { startDemoProvider } from './demo-provider.js'
import { addDocs, shownLogin } from './docs.js'
import { prepareKeys } from './keys.js'
import { createNotes } from './notes.js'
import { peopleScopes, seedUsers } from './people.js'
import { createStores } from './stores.js'
import { accountRoutes } from './routes/account.js'
import { adminRoutes } from './routes/admin.js'
import { es256Routes } from './routes/es256.js'
import { keyRoutes } from './routes/keys.js'
import { noteRoutes } from './routes/notes.js'
import { pageRoutes } from './routes/page.js'
import { docPages } from './routes/pages.js'
import { publicRoutes } from './routes/public.js'
import { rs256Routes } from './routes/rs256.js'
import type { Settings } from './config.js'
import type { Database } from './database.js'

/** Builds the demo over a database, which is closed with it: the users, the plugin, the routes, an OpenID provider. */
export async function buildApp(settings: Settings, database: Database): Promise<FastifyInstance> {
  const app = Fastify({ logger: { level: settings.logLevel } })
  app.addHook('onClose', () => database.close())
  app.setErrorHandler<FastifyError>((error, request, reply) => {
    // Mistakes of clients, such as a body that does not fit its schema, are answered by Fastify.
    if (error.statusCode !== undefined && error.statusCode < 500) return reply.send(error)
    // What went wrong inside is for the log. To the client it could tell how the app is built.
    request.log.error({ err: error }, 'A request failed')
    return reply.code(error.statusCode ?? 500).send({ error: 'Something went wrong here.' })
  })
  try {
    const stores = createStores(database)
    const users = { store: stores.users }
    const notes = createNotes(database)
    const provider = await startDemoProvider()
    app.addHook('onClose', () => provider.close())

    await addDocs(app)
    // Logins, too, may then come as a form.
    await app.register(formbody)
    // POST /login, and tokens of HS256, which are what a mark without `use` asks for.
    await app.register(authn, {
      // The table of users: its name of a user is the address, and the `sub` of tokens is the id.
      users,
      jwt: await prepareKeys(settings),
      basic: settings.basic,
      hashing: { cost: settings.passwordCost },
      // Long-lived credentials for scripts, where a mark says so: see routes/keys.ts and routes/notes.ts.
      apiKeys: { prefix: 'demo', store: stores.apiKeys },
      access: { scopesOf: () => peopleScopes },
      login: { routeOptions: shownLogin },
      // Closed by default: startup fails with a route that has no mark. One of another plugin gets its mark from a
      // scope around it: app.register(async (scope) => scope.register(plugin), { auth: false }).
      requireMarks: true,
    })

    await seedUsers(app.authn.users, database, provider.options.issuer)

    await app.register(publicRoutes(notes))
    await app.register(accountRoutes(notes))
    // A mark on a group holds for every route in it that does not say otherwise.
    await app.register(noteRoutes(notes, ['jwt', 'apiKey'], ['jwt', 'basic']), {
      prefix: '/notes',
      auth: true,
    })
    const { apiKeys } = app.authn
    await app.register(keyRoutes(apiKeys), { prefix: '/keys', auth: { use: 'jwt' } })
    await app.register(adminRoutes(database), { prefix: '/admin', auth: { use: 'configBasic' } })
    // The page for people, with a login of its own: its tokens are cookies.
    const page = pageRoutes(settings, stores, notes, apiKeys, provider.options)
    await app.register(page, { prefix: '/app', auth: true })
    await app.register(docPages, { prefix: '/pages', auth: false })
    await app.register(rs256Routes(users), { prefix: '/rs256' })
    await app.register(es256Routes(users, notes), { prefix: '/es256' })
    return app
  } catch (error) {
    await app.close()
    throw error
  }
}
