import t from 'tap'
import { createTranslator } from '../../lib/http/language.js'
import { locales } from '../../locales/index.js'
import { de } from '../../locales/de.js'
import { en } from '../../locales/en.js'
import { thrownBy } from '../helpers/errors.js'

const key = 'auth.jwt-expired'

t.test('negotiate() picks the best language that exists (RFC 4647 §3.4)', async (t) => {
  const translator = createTranslator({}, 'en')
  const cases: [string | undefined, string][] = [
    [undefined, 'en'],
    ['', 'en'],
    ['de', 'de'],
    ['de-CH', 'de'],
    ['de-x-private', 'de'],
    ['pt-br', 'pt-BR'],
    ['pt-PT', 'pt'],
    ['zh-Hans-HK', 'zh'],
    ['zh-TW', 'zh-TW'],
    ['zh-hant', 'zh-Hant'],
    ['zh-HK', 'zh-HK'],
    ['nn', 'en'],
    ['iw-IL', 'iw'],
    ['fr;q=0.5, de', 'de'],
    ['fr;q=0.8, de;q=0.9', 'de'],
    ['fr;q=0.001, de;q=0.002', 'de'],
    ['tlh, fr;q=0.5, de;q=0.4', 'fr'],
    ['fr;q=0', 'en'],
    ['fr;q=0, de;q=0.1', 'de'],
    ['*', 'en'],
    ['*, de;q=0.5', 'de'],
    ['tlh, *;q=0.5', 'en'],
    ['-de', 'en'],
    ['de-', 'de'],
    ['de_CH', 'en'],
    [',,,', 'en'],
    ['de;level=1', 'de'],
    ['__proto__', 'en'],
    ['constructor, toString, de;q=0.1', 'de'],
  ]
  for (const [header, tag] of cases) {
    t.equal(translator.negotiate(header), tag, JSON.stringify(header))
  }
})

t.test('an Accept-Language header over 512 characters is ignored', async (t) => {
  const translator = createTranslator({}, 'en')
  const padded = (length: number): string => 'de,'.padEnd(length, 'x')
  t.equal(translator.negotiate(padded(512)), 'de')
  t.equal(translator.negotiate(padded(513)), 'en')
})

t.test('a language tag over 512 characters is ignored', async (t) => {
  const { translate } = createTranslator({}, 'en')
  const padded = (length: number): string => 'de'.padEnd(length, '-x')
  t.equal(translate(key, padded(512)).language, 'de')
  t.equal(translate(key, padded(514)).language, 'en')
})

t.test('a single-letter subtag is removed with the subtag before it', async (t) => {
  const translator = createTranslator({ 'de-x': {} }, 'en')
  t.equal(translator.negotiate('de-x'), 'de-x')
  t.equal(translator.negotiate('de-x-private'), 'de')
})

t.test('translate() falls back to a shorter tag, then to the default language', async (t) => {
  const translator = createTranslator({}, 'fr')
  t.strictSame(translator.translate(key, 'de'), { text: de[key], language: 'de' })
  t.strictSame(translator.translate(key, 'de-AT'), { text: de[key], language: 'de' })
  t.strictSame(translator.translate(key, 'ZH-hk'), {
    text: locales['zh-HK']?.[key],
    language: 'zh-HK',
  })
  for (const unknown of ['tlh', '', '*', '__proto__', 'undefined']) {
    t.strictSame(translator.translate(key, unknown), { text: locales.fr?.[key], language: 'fr' })
  }
})

t.test('catalogues of the app override messages and add languages', async (t) => {
  const own = {
    de: { [key]: 'Abgelaufen!' },
    'PT-BR': { [key]: 'Expirou!' },
    tlh: { [key]: 'pIj!' },
    'gsw-CH': {},
  }
  const frozen = Object.freeze(structuredClone(own))
  const translator = createTranslator(frozen, 'en')
  t.strictSame(translator.translate(key, 'de'), { text: 'Abgelaufen!', language: 'de' })
  const other = 'auth.jwt-invalid'
  t.strictSame(translator.translate(other, 'de'), { text: de[other], language: 'de' }, 'the rest')
  t.strictSame(translator.translate(key, 'pt-br'), { text: 'Expirou!', language: 'pt-BR' })
  t.equal(translator.negotiate('tlh-KX'), 'tlh', 'a language that is added')
  t.strictSame(translator.translate(key, 'tlh'), { text: 'pIj!', language: 'tlh' })
  t.strictSame(translator.translate(other, 'tlh'), { text: en[other], language: 'en' })
  t.strictSame(
    createTranslator({ EN: { [other]: 'Who?' }, tlh: { [key]: 'pIj!' } }, 'en').translate(
      other,
      'tlh',
    ),
    { text: 'Who?', language: 'en' },
    'the English of the app',
  )
  t.equal(translator.negotiate('gsw-ch'), 'gsw-CH', 'as the app spells it')
  t.equal(translator.negotiate('gsw'), 'en')
  t.equal(
    createTranslator({}, 'en').translate(key, 'de').text,
    de[key],
    'another translator does not have them',
  )
})

t.test('a default language may be added or have a region, and must have a catalogue', async (t) => {
  t.equal(createTranslator({}, 'de').negotiate('tlh'), 'de')
  t.equal(createTranslator({}, 'DE-ch').negotiate(undefined), 'de')
  t.equal(createTranslator({ tlh: {} }, 'tlh').negotiate('xx'), 'tlh')
  for (const wrong of ['tlh', '', 'english', '__proto__']) {
    const { code, message } = thrownBy(() => createTranslator({}, wrong))
    t.equal(code, 'ERR_AUTH_OPTION', wrong)
    for (const tag of ['ar', 'en', 'pt-BR']) t.match(message, ` ${tag},`)
  }
})

t.test('a catalogue with a bad tag or message key throws ERR_AUTH_OPTION', async (t) => {
  const tags = ['', 'd', 'de_DE', 'english language', 'de-', 'a2', 'constructor', 'toolongtag']
  const keys = ['auth.expired', 'jwt-expired', '', 'constructor', 'AUTH.JWT-EXPIRED']
  const wrong: object[] = [
    ...tags.map((tag) => ({ [tag]: {} })),
    ...keys.map((key) => ({ de: { [key]: 'x' } })),
    JSON.parse('{"__proto__":{"auth.jwt-expired":"x"}}') as object,
  ]
  for (const languages of wrong) {
    const { code } = thrownBy(() => createTranslator(languages as never, 'en'))
    t.equal(code, 'ERR_AUTH_OPTION', JSON.stringify(languages))
  }
})
