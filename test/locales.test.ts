// program: small
import { readdir } from 'node:fs/promises'
import path from 'node:path'
import { isDeepStrictEqual } from 'node:util'
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

/** Messages that a request to any protected route can get, so that each language has them. Others may be missing. */
const required = [
  'auth.invalid-credentials',
  'auth.no-credentials-provided',
  'auth.jwt-invalid',
  'auth.jwt-not-valid-yet',
  'auth.jwt-expired',
]

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

/** The names in braces, whose values a feature knows. */
const placeholdersOf = (text: string): string[] => (text.match(/\{\w+\}/g) ?? []).toSorted()

/** What is wrong with a message. */
function problemsOf(tag: string, key: string, text: string): string[] {
  const english = englishOf(key) ?? ''
  const script = scripts[tag]
  const filled = text.replaceAll(/\{\w+\}/g, '15')
  const isRight: Readonly<Record<string, boolean>> = {
    'a message of the package': english !== '',
    translated: tag === 'en' || text !== english,
    'with the placeholders of the English one': isDeepStrictEqual(
      placeholdersOf(text),
      placeholdersOf(english),
    ),
    'trimmed, NFC': text === text.trim().normalize('NFC'),
    short: text.length >= 5 && text.length <= 100,
    // Controls, bidi controls and other invisible ones; ZWNJ belongs to Persian spelling.
    'without controls': !(tag === 'fa' ? /(?!\u200c)\p{C}/u : /\p{C}/u).test(text),
    'with plain single spaces': !/[\p{Zl}\p{Zp}]|(?! )\p{Zs}| {2}/u.test(text),
    'without quotes and markup': !/["'`´\\«»‹›„“”‚‘「」『』<>&{}[\]$%]/.test(filled),
    // The apostrophe of French and Catalan is a letter, not a quotation mark.
    'with apostrophes only between letters': !text
      .replaceAll(/(?<=\p{L})’(?=\p{L})/gu, '')
      .includes('’'),
    'a sentence': tag === 'th' || /[.。।]$/u.test(text),
    'in its own letters': (script ?? /\p{Script=Latin}/u).test(filled),
    'in Latin letters only': script !== undefined || !/(?!\p{Script=Latin})\p{L}/u.test(text),
  }
  const wrong = Object.entries(isRight).filter(([, each]) => !each)
  return wrong.map(([what]) => `${key} is not ${what}: ${text}`)
}

for (const [tag, own] of languages) {
  t.test(`every message in ${tag} is a short sentence in its own letters`, async (t) => {
    const english = messageKeys().map((key) => [key, String(englishOf(key))] as const)
    const texts = tag === 'en' ? english : Object.entries(own)
    const missing = required.filter((key) => !Object.hasOwn(own, key))
    const problems = texts.flatMap(([key, text]) => problemsOf(tag, key, text))
    t.strictSame([...missing, ...problems], [])
    t.equal(new Set(texts.map(([, text]) => text)).size, texts.length, 'no two are the same')
  })
}
