import Fastify, { type FastifyInstance } from 'fastify'
import t, { type Test } from 'tap'
import { authn, type AuthnOptions } from '../../lib/index.js'
import { locales } from '../../locales/index.js'
import { appWith, bearer, passwords, standardOptions } from '../helpers/app.js'
import {
  bearerChallenge,
  isRejection,
  messages,
  tokenChallenge,
  type AnyResponse,
} from '../helpers/flows.js'

const standard = standardOptions()
/** Registrations with one key have one user service. */
const shared = () => ({ ...standard })

const key = 'auth.no-credentials-provided'

async function closed(t: Test, options: AuthnOptions = {}): Promise<FastifyInstance> {
  return appWith(t, { ...shared(), ...options }, (app) => {
    app.get('/', { config: { auth: true } }, () => 'ran')
    app.get('/lang', (request) => request.lang)
  })
}

const ask = (app: FastifyInstance, language?: string): Promise<AnyResponse> =>
  app
    .inject({
      url: '/',
      headers: language === undefined ? {} : { 'accept-language': language },
    })
    .then((response) => response)

/** What clients send, and the language that they get. */
const table: [string | undefined, string][] = [
  [undefined, 'en'],
  ['de-AT, en', 'de'],
  ['de;q=0, fr;q=0.1', 'fr'],
  ['tlh', 'en'],
  ['zh-tw', 'zh-TW'],
  ['de;q=abc', 'en'],
  [`${'x,'.repeat(300)}de`, 'en'],
]

t.test('Accept-Language chooses the language of a rejection, if it is valid', async (t) => {
  const app = await closed(t)
  for (const [header, language] of table) {
    isRejection(
      t,
      await ask(app, header),
      { error: locales[language]?.[key] ?? '', challenge: bearerChallenge, language },
      `${String(header).slice(0, 40)} is ${language}`,
    )
  }
})

t.test('rejections are sent in every language, with an English challenge', async (t) => {
  const app = await closed(t)
  for (const [language, catalogue] of Object.entries(locales)) {
    isRejection(t, await ask(app, language), {
      error: catalogue[key] ?? '',
      challenge: bearerChallenge,
      language,
    })
    const headers = { ...bearer('a.b.c'), 'accept-language': language }
    isRejection(t, await app.inject({ url: '/', headers }), {
      error: catalogue['auth.jwt-invalid'] ?? '',
      challenge: tokenChallenge('The token is invalid'),
      language,
    })
  }
  t.ok(Object.keys(locales).length > 20)
})

t.test('nested registrations have languages and a defaultLanguage of their own', async (t) => {
  const app = await appWith(t, { ...shared(), defaultLanguage: 'de' }, async (app) => {
    app.get('/', { config: { auth: true } }, () => 'ran')
    await app.register(
      async (app) => {
        await app.register(authn, {
          ...shared(),
          login: false,
          defaultLanguage: 'tlh',
          languages: { tlh: { [key]: 'nuqneH' } },
        })
        app.get('/', { config: { auth: true } }, () => 'ran')
        app.get('/lang', (request) => request.lang)
      },
      { prefix: '/inner' },
    )
  })
  t.strictSame((await app.inject('/')).json(), { error: locales.de?.[key] })
  t.strictSame((await app.inject('/inner')).json(), { error: 'nuqneH' })
  t.equal((await app.inject('/inner/lang')).body, 'tlh')
})

for (const [order, outcome] of [
  ['before', 'wins'],
  ['after', 'comes too late'],
] as const) {
  t.test(`request.lang of a hook ${order} the plugin ${outcome}`, async (t) => {
    const app = Fastify()
    t.teardown(() => app.close())
    const setLanguage = (): void => {
      app.addHook('onRequest', async (request) => {
        const { locale } = request.query as { locale?: string }
        if (locale !== undefined) request.lang = locale
      })
    }
    if (order === 'before') setLanguage()
    await app.register(authn, shared())
    if (order === 'after') setLanguage()
    app.get('/', { config: { auth: true } }, () => 'ran')
    app.get('/lang', (request) => request.lang)
    const headers = { 'accept-language': 'fr' }

    t.equal((await app.inject({ url: '/lang', headers })).body, 'fr')
    t.equal((await app.inject({ url: '/lang?locale=de', headers })).body, 'de')
    t.equal((await app.inject({ url: '/lang?locale=tlh', headers })).body, 'tlh')
    // The hook of the plugin answers before those that come after it.
    const heard = order === 'before'
    const expected: [string, string][] = [
      ['', 'fr'],
      ['?locale=de', heard ? 'de' : 'fr'],
      ['?locale=de-AT', heard ? 'de' : 'fr'],
      ['?locale=tlh', heard ? 'en' : 'fr'],
      ['?locale=constructor', heard ? 'en' : 'fr'],
      ['?locale=', heard ? 'en' : 'fr'],
    ]
    for (const [query, language] of expected) {
      const response = await app.inject({ url: `/${query}`, headers })
      isRejection(
        t,
        response,
        { error: locales[language]?.[key] ?? '', challenge: bearerChallenge, language },
        query,
      )
    }
  })
}

t.test('a login answers in request.lang, even if it is set in preHandler', async (t) => {
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
  isRejection(t, response, {
    error: locales.es?.['auth.invalid-credentials'] ?? '',
    challenge: bearerChallenge,
    language: 'es',
  })
})

t.test('lang of an earlier i18n plugin decides the language of rejections', async (t) => {
  for (const kind of ['value', 'getter', 'odd'] as const) {
    const app = Fastify()
    t.teardown(() => app.close())
    if (kind === 'value') {
      app.decorateRequest('lang', '')
      app.addHook('onRequest', async (request) => {
        request.lang = 'it'
      })
    } else {
      app.decorateRequest('lang', {
        getter: () => (kind === 'getter' ? 'it' : (undefined as never)),
      })
    }
    await app.register(authn, shared())
    app.get('/', { config: { auth: true } }, () => 'ran')
    const response = await app.inject({ url: '/', headers: { 'accept-language': 'fr' } })
    const language = kind === 'odd' ? 'en' : 'it'
    isRejection(
      t,
      response,
      { error: locales[language]?.[key] ?? '', challenge: bearerChallenge, language },
      kind,
    )
  }
})

t.test('invalid values of request.lang give rejections in English', async (t) => {
  for (const value of [null, undefined, 5, {}, [], 'a\r\nb', Symbol('x')]) {
    const app = Fastify()
    t.teardown(() => app.close())
    app.addHook('onRequest', async (request) => {
      ;(request as { lang: unknown }).lang = value
    })
    await app.register(authn, shared())
    app.get('/', { config: { auth: true } }, () => 'ran')
    const response = await app.inject('/')
    isRejection(t, response, { error: messages.none, challenge: bearerChallenge }, typeof value)
  }
})

t.test('Accept-Language is added to Vary once, and not to *', async (t) => {
  const cases: [string | string[], string][] = [
    ['Origin', 'Origin, Accept-Language'],
    [['Origin', 'Accept-Encoding'], 'Origin, Accept-Encoding, Accept-Language'],
    ['Accept-Language', 'Accept-Language'],
    ['accept-language, Origin', 'accept-language, Origin'],
    ['*', '*'],
    ['X-Accept-Language', 'X-Accept-Language, Accept-Language'],
  ]
  for (const [given, vary] of cases) {
    const app = Fastify()
    t.teardown(() => app.close())
    app.addHook('onRequest', async (_, reply) => void reply.header('vary', given))
    await app.register(authn, shared())
    app.get('/', { config: { auth: true } }, () => 'ran')
    isRejection(t, await app.inject('/'), {
      error: messages.none,
      challenge: bearerChallenge,
      vary,
    })
  }
})

t.test('an i18n plugin that throws gives a 500 without its message', async (t) => {
  let calls = 0
  const app = Fastify()
  t.teardown(() => app.close())
  app.decorateRequest('lang', {
    getter(): string {
      throw new Error('no catalogue')
    },
  })
  await app.register(authn, { basic: { username: 'a', password: 'b' } })
  app.get('/', { config: { auth: true } }, () => (calls += 1))
  const response = await app.inject('/')
  t.equal(response.statusCode, 500)
  t.notMatch(response.body, /catalogue/)
  t.equal(calls, 0)
})
