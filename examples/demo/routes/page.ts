import { randomBytes } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { Type } from '@sinclair/typebox'
import { authn, storedUser, type ApiKeys } from 'fastify-authn'
import type { FastifyInstance } from 'fastify'
import { deviceOf } from '../device.js'
import { secondFactorKey } from '../keys.js'
import { createMailbox } from '../mailbox.js'
import { peopleScopes } from '../people.js'
import { keyRoutes } from './keys.js'
import { noteRoutes } from './notes.js'
import type { Settings } from '../config.js'
import type { DemoProviderOptions } from '../demo-provider.js'
import type { Notes } from '../notes.js'
import type { Stores } from '../stores.js'
import type { TypeBoxProvider } from '../typebox.js'

const title = 'fastify-authn demo'

/** A page for people: their tokens are in cookies, and their sessions in the database. */
export function pageRoutes(
  settings: Settings,
  stores: Stores,
  notes: Notes,
  apiKeys: ApiKeys,
  demo: DemoProviderOptions,
) {
  return async (server: FastifyInstance) => {
    const app = server.withTypeProvider<TypeBoxProvider>()
    const mailbox = createMailbox()
    // Left out of the API document, which shows the routes for programs.
    app.addHook('onRoute', (route) => {
      route.schema = { ...route.schema, hide: true }
    })
    // POST /app/login, /app/login/refresh, /app/logout, and those of each of the options below.
    await app.register(authn, {
      users: {
        store: stores.users,
        newUser: ({ email, claims }) => ({ name: email?.split('@')[0] ?? claims?.sub }),
        // GET /app/admin/users, POST /app/admin/users/:id/disable and so on
        admin: { auth: { role: 'admin' } },
      },
      // A key of its own: tokens of the page are good for the page alone. After a restart, which makes another one,
      // the page refreshes its token.
      jwt: { secret: randomBytes(32).toString('base64url'), expiry: settings.jwt.expiry },
      // Pages get cookies, and clients that are not browsers tokens, if they ask for them: see the lines of curl.
      cookies: { apps: true },
      sessions: { name: 'page', store: stores.sessions },
      // Users of an OpenID provider get the same session and cookies as those with a password.
      loginWith: { demo },
      // The mailbox shows links without host and port, which are not known yet.
      accounts: { url: 'http://localhost/app', remove: true, sendMail: mailbox.sendMail },
      // A link and a code to log in, for who has no password at hand. Not for admins: whoever reads the mailbox gets in.
      mailLogin: { accept: ({ roles }) => !roles.includes('admin') },
      // The other logins of the demo know no codes.
      secondFactor: { key: await secondFactorKey(settings), issuer: title, page: '/app/' },
      // Passkeys belong to a domain, so not to 127.0.0.1. With PORT=0 the port is not known yet, and they do not work.
      passkeys: { origin: `http://localhost:${settings.port}`, name: title },
      access: { scopesOf: () => peopleScopes },
    })
    await app.register(files, { auth: false })
    await app.register(noteRoutes(notes, ['jwt'], ['jwt']), { prefix: '/notes', auth: true })
    // The keys are those of the API: its routes accept them, and the page's own do not.
    await app.register(keyRoutes(apiKeys), { prefix: '/keys', auth: true })

    const config = { auth: true } as const
    app.get('/me', { config }, (request) => ({
      ...request.user,
      hasPassword: storedUser(request)?.password !== null,
    }))

    // Step-up: a login from half a minute ago will not do. The page asks for the password, or for a code.
    app.get('/export', { config: { auth: { fresh: 30 } } }, async ({ user }, reply) => {
      void reply.header('cache-control', 'no-store')
      const identities = await app.authn.users.identities(user.id)
      return { user, identities, notes: await notes.ownedBy(user.id) }
    })

    // Open, and only right for a demo: whoever reads a mail can use its link.
    app.get('/mails', { config: { auth: false } }, async (_request, reply) => {
      // Mails are sent after the response to the request that asks for them.
      await app.authn.accounts.settled()
      void reply.header('cache-control', 'no-store')
      return mailbox.mails()
    })

    app.get('/sessions', { config }, async (request) => {
      const session = app.authn.sessions.of(request)
      const list = session ? await app.authn.sessions.list(session.sub) : undefined
      return (list ?? []).map(({ sid, created, address, userAgent }) => ({
        sid,
        created,
        address,
        device: deviceOf(userAgent),
        isThis: sid === session?.id,
      }))
    })

    const params = Type.Object({ sid: Type.String() })
    app.delete('/sessions/:sid', { config, schema: { params } }, async (request, reply) => {
      const { sid } = request.params
      const session = app.authn.sessions.of(request)
      const own = session ? await app.authn.sessions.list(session.sub) : undefined
      // A session of another user counts as unknown.
      if (!own?.some((each) => each.sid === sid)) return reply.code(404).send()
      await app.authn.sessions.revoke({ sid })
      return reply.code(204).send()
    })
  }
}

/** Nothing but the files of the page runs in it, and it sends requests only to us. */
const headers = {
  'content-security-policy': [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "connect-src 'self'",
    'img-src data:',
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
    "require-trusted-types-for 'script'",
  ].join('; '),
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
}

async function files(app: FastifyInstance): Promise<void> {
  for (const [url, file, type] of [
    ['/', 'index.html', 'text/html'],
    // The pages of the links in mails.
    ['/sign-up', 'index.html', 'text/html'],
    ['/reset', 'index.html', 'text/html'],
    ['/email', 'index.html', 'text/html'],
    ['/set', 'index.html', 'text/html'],
    ['/login', 'index.html', 'text/html'],
    ['/page.js', 'page.js', 'text/javascript'],
    ['/accounts.js', 'accounts.js', 'text/javascript'],
    ['/mailbox.js', 'mailbox.js', 'text/javascript'],
    ['/keys.js', 'keys.js', 'text/javascript'],
    ['/users.js', 'users.js', 'text/javascript'],
    ['/factors.js', 'factors.js', 'text/javascript'],
    ['/elements.js', 'elements.js', 'text/javascript'],
    ['/page.css', 'page.css', 'text/css'],
  ] as const) {
    await add(url, new URL(`../page/${file}`, import.meta.url), type)
  }
  // Without a bundler, the page imports the client from here.
  for (const name of ['fastify-authn/browser', 'fastify-authn/browser/passkeys', 'qr']) {
    const module = new URL(import.meta.resolve(name))
    await add(`/${name.replaceAll('/', '-')}.js`, module, 'text/javascript')
  }

  async function add(url: string, file: URL, type: string): Promise<void> {
    const content = await readFile(file)
    app.get(url, (_request, reply) =>
      reply.headers(headers).type(`${type}; charset=utf-8`).send(content),
    )
  }
}
