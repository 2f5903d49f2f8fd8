import { readdir } from 'node:fs/promises'
import path from 'node:path'
import t from 'tap'
import { englishOf, messageKeys } from '../lib/errors/rejections.js'
import '../lib/feature-table.js'
import { locales } from '../locales/index.js'
import { root } from './helpers/project.js'

/** Tags that are another tag for the same text. */
const aliases: Readonly<Record<string, string>> = {
  iw: 'he',
  in: 'id',
  no: 'nb',
  'zh-Hant': 'zh-TW',
  'zh-HK': 'zh-TW',
  'zh-MO': 'zh-TW',
}
/** Old codes that browsers and Java still send; BCP 47 would have them replaced. */
const legacy: ReadonlySet<string> = new Set(['iw', 'in'])
const languages = Object.entries(locales).filter(([tag]) => !(tag in aliases))

/** Messages that these languages alone have, beside English. */
const inFew = {
  languages: ['de', 'es', 'fr', 'it', 'nl', 'pt', 'pt-BR'],
  keys: [
    'auth.login-expired',
    'auth.login-failed',
    'auth.link-invalid',
    'auth.password-too-short',
    'auth.password-too-long',
    'auth.password-guessable',
    'auth.current-password',
    'auth.login-again',
    'auth.too-many-mails',
  ],
}
const missingOf = (tag: string): string[] => (inFew.languages.includes(tag) ? [] : inFew.keys)
const missingIn = (catalogue: object): string[] =>
  messageKeys().filter((key) => !Object.hasOwn(catalogue, key))

/** Letters of the languages that are not written with Latin ones. */
const scripts: Readonly<Record<string, RegExp>> = {
  ar: /\p{Script=Arabic}/u,
  fa: /\p{Script=Arabic}/u,
  bg: /\p{Script=Cyrillic}/u,
  ru: /\p{Script=Cyrillic}/u,
  sr: /\p{Script=Cyrillic}/u,
  uk: /\p{Script=Cyrillic}/u,
  el: /\p{Script=Greek}/u,
  he: /\p{Script=Hebrew}/u,
  hi: /\p{Script=Devanagari}/u,
  ja: /[\p{Script=Hiragana}\p{Script=Katakana}]/u,
  ko: /\p{Script=Hangul}/u,
  th: /\p{Script=Thai}/u,
  zh: /\p{Script=Han}/u,
  'zh-TW': /\p{Script=Han}/u,
}

t.test('the English messages are these', async (t) => {
  const english = Object.fromEntries(messageKeys().map((key) => [key, englishOf(key)]))
  t.strictSame(english, {
    'auth.invalid-credentials': 'Invalid credentials.',
    'auth.no-credentials-provided': 'Invalid or missing authentication header.',
    'auth.jwt-invalid': 'Your authentication token is invalid.',
    'auth.logged-out': 'You were logged out.',
    'auth.jwt-not-valid-yet': 'Your authentication token is not valid yet.',
    'auth.jwt-expired': 'Your authentication token is expired.',
    'auth.api-key-invalid': 'Your API key is invalid.',
    'auth.api-key-expired': 'Your API key is expired.',
    'auth.api-key-not-accepted': 'This route does not accept API keys.',
    'auth.credentials-not-accepted': 'This route does not accept these credentials.',
    'auth.overloaded': 'The server is busy. Please try again later.',
    'auth.too-many-attempts': 'Too many failed attempts. Please try again later.',
    'auth.insufficient-scope': 'Your credentials do not allow this action.',
    'auth.forbidden': 'You are not allowed to do this.',
    'auth.cross-site': 'Requests from other sites are not accepted.',
    'auth.refresh-invalid': 'Your session has expired. Please log in again.',
    'auth.refresh-reused': 'Your session was revoked to protect your account. Please log in again.',
    'auth.login-expired': 'Your login has expired. Please try again.',
    'auth.login-failed': 'The login was not successful.',
    'auth.link-invalid': 'This link is not valid any more. Please ask for another one.',
    'auth.password-too-short':
      'This password is too short. Please use at least {minPasswordLength} characters.',
    'auth.password-too-long': 'This password is too long.',
    'auth.password-guessable': 'This password is easy to guess. Please choose another one.',
    'auth.current-password': 'The current password is wrong.',
    'auth.login-again': 'Please log in again to do this.',
    'auth.too-many-mails': 'Too many e-mails were requested. Please try again later.',
  })
})

t.test('every language file is in the index', async (t) => {
  const files = await readdir(path.join(root, 'locales'))
  const expected = languages.map(([tag]) => `${tag.toLowerCase()}.ts`)
  t.strictSame(files.toSorted(), [...expected, 'index.ts'].toSorted())
})

t.test('the table of languages has no prototype', async (t) => {
  t.equal(Object.getPrototypeOf(locales), null)
  t.equal(locales.constructor, undefined)
})

t.test('tags are canonical BCP 47, except the old codes', async (t) => {
  for (const tag of Object.keys(locales)) {
    const [canonical] = Intl.getCanonicalLocales(tag)
    t.equal(canonical, legacy.has(tag) ? aliases[tag] : tag, tag)
  }
  const lowerCase = Object.keys(locales).map((tag) => tag.toLowerCase())
  t.equal(new Set(lowerCase).size, lowerCase.length, 'no two differ in case only')
})

t.test('aliases have the messages of their language', async (t) => {
  for (const [alias, tag] of Object.entries(aliases)) {
    t.ok(locales[alias] !== undefined && locales[alias] === locales[tag], `${alias}: ${tag}`)
  }
})

t.test('no two languages have the same messages', async (t) => {
  const texts = languages.map(([, catalogue]) => JSON.stringify(catalogue))
  t.equal(new Set(texts).size, texts.length)
})

for (const [tag, catalogue] of languages) {
  t.test(`every message in ${tag} is a short sentence in its own letters`, async (t) => {
    const unknown = Object.keys(catalogue).filter((key) => englishOf(key) === undefined)
    t.strictSame(unknown, [], 'messages of the package')
    if (tag !== 'en') t.strictSame(missingIn(catalogue), missingOf(tag), 'English is used')
    const texts = Object.entries(catalogue)
    t.equal(new Set(Object.values(catalogue)).size, texts.length, 'every text says something else')
    for (const [key, text] of texts) {
      const title = `${key}: ${text}`
      if (tag !== 'en') t.not(text, englishOf(key), `${title}: translated`)
      t.equal(text, text.trim().normalize('NFC'), `${title}: trimmed, NFC`)
      t.ok(text.length >= 5 && text.length <= 100, `${title}: short`)
      // Controls, bidi controls and other invisible ones; ZWNJ belongs to Persian spelling.
      t.notMatch(text, tag === 'fa' ? /(?!\u200c)\p{C}/u : /\p{C}/u, `${title}: no controls`)
      t.notMatch(text, /[\p{Zl}\p{Zp}]|(?! )\p{Zs}| {2}/u, `${title}: plain single spaces`)
      // The apostrophe of French and Catalan is a letter, not a quotation mark.
      const filled = text.replace('{minPasswordLength}', '15')
      t.notMatch(filled, /["'`´\\«»‹›„“”‚‘「」『』<>&{}[\]$%]/, `${title}: no quotes, no markup`)
      t.notMatch(text.replace(/(?<=\p{L})’(?=\p{L})/gu, ''), '’', `${title}: apostrophes`)
      if (tag !== 'th') t.match(text, /[.。।]$/u, `${title}: a sentence`)
      const script = scripts[tag]
      const letters = script ?? /\p{Script=Latin}/u
      t.match(text, letters, `${title}: in its own letters`)
      if (script === undefined)
        t.notMatch(text, /(?!\p{Script=Latin})\p{L}/u, `${title}: Latin only`)
    }
  })
}
