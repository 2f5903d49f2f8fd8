import t, { type Test } from 'tap'
import { hashPassword } from 'fastify-authn'
import { buildApp } from './i18next.js'
import {
  alice,
  bearer,
  expectAnswer,
  login,
  rejection,
  tokenChallenge,
  welcome,
} from './support/expected.js'

const url = '/hello'
const speaks = (language: string) => ({ 'accept-language': language })
const inLanguage = (language: string) => ({
  ...welcome,
  'content-language': language,
  vary: 'Accept-Language',
})
const rejectionIn = (language: string, challenge?: string) => ({
  ...rejection(challenge),
  'content-language': language,
})

async function setUp(t: Test) {
  const password = await hashPassword(alice.password, { cost: 4 })
  // A name that HTML, or the syntax of the catalogues, would mind.
  const user = { id: 1, username: '<$t(hello)> & {{lng}}', password }
  const app = await buildApp({ findByUsername: (username) => (username === 'alice' ? user : null) })
  t.teardown(() => app.close())
  return { app, answer: expectAnswer(t, app), token: await login(t, app, '/login', alice) }
}

t.test('messages of the app are in the language of the request', async (t) => {
  const { answer, token } = await setUp(t)
  const name = '<$t(hello)> & {{lng}}'
  for (const [asked, text, language] of [
    ['de', `Hallo, ${name}!`, 'de'],
    ['de-AT, en;q=0.5', `Hallo, ${name}!`, 'de'],
    ['eo;q=0.5, en;q=0.1', `Saluton, ${name}!`, 'eo'],
    ['en', `Hello, ${name}!`, 'en'],
    // The plugin has Japanese, and the app has not.
    ['ja', `Hello, ${name}!`, 'en'],
    ['tlh', `Hello, ${name}!`, 'en'],
  ] as const) {
    const headers = { ...token, ...speaks(asked) }
    await answer({ url, headers }, 200, { text }, inLanguage(language))
  }
})

t.test('rejections come from the catalogues, or from the plugin if they lack one', async (t) => {
  const { app, answer } = await setUp(t)
  for (const [asked, error, language] of [
    ['de', 'Bitte melden Sie sich an.', 'de'],
    ['eo', 'Bonvolu ensaluti.', 'eo'],
    ['en', 'Invalid or missing authentication header.', 'en'],
    ['fr', 'L’en-tête d’authentification est absent ou non valide.', 'fr'],
  ] as const) {
    await answer({ url, headers: speaks(asked) }, 401, { error }, rejectionIn(language))
  }

  const expired = bearer(app.jwtService.generateTokenWithClaims({ sub: 'alice', exp: 1 }))
  const challenge = tokenChallenge('The token expired')
  for (const [asked, error, language] of [
    ['eo', 'La ĵetono eksvalidiĝis.', 'eo'],
    ['de', 'Ihr Authentifizierungstoken ist abgelaufen.', 'de'],
  ] as const) {
    const headers = { ...expired, ...speaks(asked) }
    await answer({ url, headers }, 401, { error }, rejectionIn(language, challenge))
  }

  const payload = { username: 'alice', password: 'wrong' }
  for (const [asked, error, language] of [
    ['en', 'Wrong name or password.', 'en'],
    // Neither the catalogue nor the plugin has it in this language.
    ['eo', 'Wrong name or password.', 'en'],
  ] as const) {
    const request = { method: 'POST', url: '/login', payload, headers: speaks(asked) } as const
    await answer(request, 401, { error }, rejectionIn(language))
  }
})
