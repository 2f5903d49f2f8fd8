// One set of catalogues, i18next's, for the texts of the app and for those of the plugin.
import Fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify'
import { authn, hashPassword, type UserService } from 'fastify-authn'
import { createInstance, type i18n as I18n } from 'i18next'
import { bearer, isProgram, loginTip, start } from './support/start.js'

declare module 'fastify-authn' {
  interface AuthUser {
    id: number
    username: string
  }
  interface StoredUser {
    password: string
  }
}

/** In an app, JSON files that translators edit. What a language leaves out is English. */
const catalogues = {
  en: {
    translation: { hello: 'Hello, {{name}}!' },
    auth: { 'invalid-credentials': 'Wrong name or password.' },
  },
  de: {
    translation: { hello: 'Hallo, {{name}}!' },
    auth: { 'no-credentials-provided': 'Bitte melden Sie sich an.' },
  },
  // A language that the plugin does not have.
  eo: {
    translation: { hello: 'Saluton, {{name}}!' },
    auth: {
      'no-credentials-provided': 'Bonvolu ensaluti.',
      'jwt-expired': 'La ĵetono eksvalidiĝis.',
    },
  },
}

async function loadCatalogues(): Promise<I18n> {
  // An instance of its own: tests, and apps in one process, do not share the language.
  const i18n = createInstance()
  await i18n.init({
    resources: catalogues,
    fallbackLng: 'en',
    // For JSON. Where a message goes into HTML, escape it there.
    interpolation: { escapeValue: false },
  })
  return i18n
}

/** The namespace `auth` of every language, under the keys that the plugin knows. */
function languagesOf(i18n: I18n): Record<string, Record<string, string>> {
  const entries = Object.keys(catalogues).map((language) => {
    const texts = i18n.getResourceBundle(language, 'auth') as Record<string, string> | undefined
    const keys = Object.entries(texts ?? {}).map(([key, text]) => [`auth.${key}`, text])
    return [language, Object.fromEntries(keys)]
  })
  return Object.fromEntries(entries) as Record<string, Record<string, string>>
}

export async function buildApp(userService: UserService): Promise<FastifyInstance> {
  const app = Fastify()
  const i18n = await loadCatalogues()
  await app.register(authn, {
    userService,
    jwt: { secret: process.env.AUTH_JWT_SECRET },
    languages: languagesOf(i18n),
  })

  /** A message of the app, in the language that the plugin has negotiated. */
  const say = (
    key: string,
    values: Record<string, unknown>,
    { lang: lng }: Pick<FastifyRequest, 'lang'>,
    reply: FastifyReply,
  ): string => {
    // The plugin knows more languages than these catalogues: i18next tells which one it fell back to.
    const { res, usedLng } = i18n.t(key, { ...values, lng, returnDetails: true })
    void reply.header('content-language', usedLng).header('vary', 'Accept-Language')
    return res
  }

  app.get('/hello', { config: { auth: true } }, (request, reply) => ({
    text: say('hello', { name: request.user.username }, request, reply),
  }))
  return app
}

if (isProgram(import.meta.url)) {
  const alice = { id: 1, username: 'alice', password: await hashPassword('wonderland-1865') }
  await start(
    await buildApp({ findByUsername: (username) => (username === 'alice' ? alice : null) }),
    `curl -i $URL/hello -H 'Accept-Language: eo'`,
    loginTip('alice', 'wonderland-1865'),
    `curl -i $URL/hello -H 'Accept-Language: de-AT, en;q=0.5' ${bearer}`,
  )
}
