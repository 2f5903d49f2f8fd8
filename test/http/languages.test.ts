// Which language a header asks for: test/http/language.test.ts.
import Fastify, { type FastifyInstance } from 'fastify'
import t, { type Test } from 'tap'
import { authn, type AuthnOptions } from '../../lib/index.js'
import { locales } from '../../locales/index.js'
import { appWith, bearer, passwords, standardOptions } from '../helpers/app.js'
import { bearerChallenge, isRejection, tokenChallenge, type AnyResponse } from '../helpers/flows.js'

const standard = standardOptions()
/** Registrations with one key have one user service. */
const shared = () => ({ ...standard })

const key = 'auth.no-credentials-provided'

/** A rejection of a request without credentials, in a language. */
const none = (language: string) => ({
  error: locales[language]?.[key] ?? '',
  challenge: bearerChallenge,
  language,
})

/** An app in which something else is declared before the plugin. */
async function appAfter(
  t: Test,
  declare: (app: FastifyInstance) => unknown,
  options: AuthnOptions = shared(),
): Promise<FastifyInstance> {
  const app = Fastify()
  t.teardown(() => app.close())
  declare(app)
  await app.register(authn, options)
  app.get('/', { config: { auth: true } }, () => 'ran')
  app.get('/lang', (request) => request.lang)
  return app
}

/** A request that prefers French. */
const inFrench = (app: FastifyInstance, url = '/'): Promise<AnyResponse> =>
  app.inject({ url, headers: { 'accept-language': 'fr' } })

t.test('a rejection is in the accepted language, with an English challenge', async (t) => {
  const app = await appAfter(t, () => undefined)
  for (const [language, catalogue] of Object.entries(locales)) {
    const headers = { ...bearer('a.b.c'), 'accept-language': language }
    isRejection(t, await app.inject({ url: '/', headers }), {
      error: { ...locales.en, ...catalogue }['auth.jwt-invalid'] ?? '',
      challenge: tokenChallenge('The token is invalid'),
      language,
    })
  }
  t.ok(Object.keys(locales).length > 20)
})

t.test('nested registrations have languages and a defaultLanguage of their own', async (t) => {
  const languages = { tlh: { [key]: 'nuqneH' } }
  const inner = { ...shared(), login: false, defaultLanguage: 'tlh', languages } as const
  const app = await appWith(t, { ...shared(), defaultLanguage: 'de' }, async (app) => {
    const routes = (app: FastifyInstance): void => {
      app.get('/', { config: { auth: true } }, () => 'ran')
      app.get('/lang', (request) => request.lang)
    }
    routes(app)
    const scope = async (app: FastifyInstance): Promise<void> => {
      await app.register(authn, inner)
      routes(app)
    }
    await app.register(scope, { prefix: '/inner' })
  })
  t.strictSame((await app.inject('/')).json(), { error: locales.de?.[key] })
  t.strictSame((await app.inject('/inner')).json(), { error: 'nuqneH' })
  t.equal((await app.inject('/inner/lang')).body, 'tlh')
})

for (const [order, outcome] of [
  ['before', 'decides the language of a rejection'],
  ['after', 'comes too late for a rejection'],
] as const) {
  t.test(`request.lang of a hook ${order} the plugin ${outcome}`, async (t) => {
    const setLanguage = (app: FastifyInstance): void => {
      app.addHook('onRequest', async (request) => {
        const { locale } = request.query as { locale?: string }
        if (locale !== undefined) request.lang = locale
      })
    }
    const app = await appAfter(t, order === 'before' ? setLanguage : () => undefined)
    if (order === 'after') setLanguage(app)
    for (const [query, seen, heard] of [
      ['', 'fr', 'fr'],
      ['?locale=de', 'de', 'de'],
      ['?locale=de-AT', 'de-AT', 'de'],
      ['?locale=tlh', 'tlh', 'en'],
      ['?locale=constructor', 'constructor', 'en'],
      ['?locale=', '', 'en'],
    ] as const) {
      t.equal((await inFrench(app, `/lang${query}`)).body, seen)
      // The hook of the plugin answers before those that come after it.
      const language = order === 'before' ? heard : 'fr'
      isRejection(t, await inFrench(app, `/${query}`), none(language), query)
    }
  })
}

t.test('a login is answered in request.lang, even if it is set in preHandler', async (t) => {
  const app = await appWith(t, shared(), (app) => {
    app.addHook('preHandler', async (request) => {
      request.lang = 'es'
    })
  })
  const response = await app.inject({
    method: 'POST',
    url: '/login',
    payload: { username: 'alice', password: `${passwords.alice}!` },
    headers: { 'accept-language': 'fr' },
  })
  // Declared before the hook, which is of the scope all the same.
  const error = locales.es?.['auth.invalid-credentials'] ?? ''
  isRejection(t, response, { error, challenge: bearerChallenge, language: 'es' })
})

t.test('lang of an earlier i18n plugin decides the language of rejections', async (t) => {
  const fixed = (app: FastifyInstance): void => {
    app.decorateRequest('lang', '')
    app.addHook('onRequest', async (request) => {
      request.lang = 'it'
    })
  }
  const getter = (lang: unknown) => (app: FastifyInstance) =>
    app.decorateRequest('lang', { getter: () => lang as string })
  for (const [title, declare, language] of [
    ['a value', fixed, 'it'],
    ['a getter', getter('it'), 'it'],
    ['a getter that returns undefined', getter(undefined), 'en'],
  ] as const) {
    isRejection(t, await inFrench(await appAfter(t, declare)), none(language), title)
  }
})

t.test('a request.lang that is no language tag gives a rejection in English', async (t) => {
  let value: unknown
  const app = await appAfter(t, (app) => {
    app.addHook('onRequest', async (request) => {
      ;(request as { lang: unknown }).lang = value
    })
  })
  for (value of [null, undefined, 5, {}, [], 'a\r\nb', Symbol('x')]) {
    isRejection(t, await app.inject('/'), none('en'), typeof value)
  }
})

t.test('a rejection adds Accept-Language to Vary once, and not to *', async (t) => {
  let given: string | string[] = ''
  const app = await appAfter(t, (app) => {
    app.addHook('onRequest', async (_, reply) => void reply.header('vary', given))
  })
  for (const [before, vary] of [
    ['Origin', 'Origin, Accept-Language'],
    [['Origin', 'Accept-Encoding'], 'Origin, Accept-Encoding, Accept-Language'],
    ['accept-language, Origin', 'accept-language, Origin'],
    ['*', '*'],
    ['X-Accept-Language', 'X-Accept-Language, Accept-Language'],
  ] as const) {
    given = before as typeof given
    isRejection(t, await app.inject('/'), { ...none('en'), vary })
  }
})

t.test('an i18n plugin that throws gives a 500 without its message', async (t) => {
  const getter = (): string => {
    throw new Error('no catalogue')
  }
  const app = await appAfter(t, (app) => app.decorateRequest('lang', { getter }))
  const { statusCode, body } = await app.inject('/')
  t.equal(statusCode, 500)
  t.notMatch(body, /catalogue|ran/)
})
