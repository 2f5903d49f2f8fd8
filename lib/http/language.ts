import Negotiator from 'negotiator'
import { locales } from '../../locales/index.js'
import { wrongOption } from '../errors/errors.js'
import { englishOf, messageKeys } from '../errors/rejections.js'
import type { Catalogue, MessageKey } from '../../types/messages.js'

/** A message, and the tag of its language; null for a message of the app, whose language is unknown. */
export interface LocalizedText {
  readonly text: string
  readonly language: string | null
}

interface Language {
  readonly tag: string
  readonly catalogue: Partial<Catalogue>
}

type AppCatalogues = Readonly<Record<string, Partial<Catalogue>>>

export type Translator = ReturnType<typeof createTranslator>

/** The longest `Accept-Language` header or language tag that is read, in characters. Browsers send fewer than 100. */
const longest = 512

const builtIn = Object.entries(locales).map(([tag, catalogue]): [string, Language] => [
  tag.toLowerCase(),
  { tag, catalogue },
])

/**
 * @param own - catalogues of the app: they add languages (a missing key stays English) or override messages
 * @param values - what stands for `{name}` in messages
 * @throws ERR_AUTH_OPTION for an invalid tag or key, and for a default language without a catalogue
 */
export function createTranslator(
  own: AppCatalogues,
  defaultLanguage: string,
  values: Readonly<Record<string, string>> = {},
) {
  const languages = new Map(builtIn)
  for (const [tag, messages] of Object.entries(own)) {
    checkCatalogue(tag, messages)
    const base = languages.get(tag.toLowerCase())
    const catalogue = { ...base?.catalogue, ...messages }
    languages.set(tag.toLowerCase(), { tag: base?.tag ?? tag, catalogue })
  }
  const english = (languages.get('en') as Language).catalogue
  const fallback = lookup(languages, defaultLanguage)
  if (fallback === undefined) {
    wrongOption(
      `option "defaultLanguage": found ${JSON.stringify(defaultLanguage)}, for which there is no catalogue. Add one to "languages", or choose one of ${[...languages.values()].map(({ tag }) => tag).join(', ')}.`,
    )
  }
  return {
    /** Chooses a language for `Accept-Language` (RFC 9110 §12.5.4) by lookup (RFC 4647 §3.4). */
    negotiate(acceptLanguage: string | undefined): string {
      for (const range of languageRanges(acceptLanguage)) {
        const language = lookup(languages, range)
        if (language !== undefined) return language.tag
      }
      return fallback.tag
    },
    /** @param language - any tag; an unknown one is looked up like a language range */
    translate(key: MessageKey, language: string): LocalizedText {
      const { tag, catalogue } = lookup(languages, language) ?? fallback
      // The app may have replaced the English text, so it is asked before the built-in one.
      const found = catalogue[key] ?? english[key] ?? String(englishOf(key))
      const text = found.replace(/\{(\w+)\}/g, (all, name: string) => values[name] ?? all)
      return { text, language: catalogue[key] === undefined ? 'en' : tag }
    },
  }
}

function lookup(languages: ReadonlyMap<string, Language>, range: string): Language | undefined {
  if (range.length > longest) return undefined
  let tag = range.toLowerCase()
  while (tag !== '') {
    const language = languages.get(tag)
    if (language !== undefined) return language
    const end = Math.max(tag.lastIndexOf('-'), 0)
    // A single-letter subtag goes together with the one after it (RFC 4647 §3.4).
    tag = tag.slice(0, tag[end - 2] === '-' ? end - 2 : end)
  }
  return undefined
}

/** @returns the language ranges of a header, highest quality first, without `*` and quality 0 */
function languageRanges(header: string | undefined): string[] {
  if (header === undefined || header.length > longest) return []
  return new Negotiator({ headers: { 'accept-language': header } }).languages()
}

function checkCatalogue(tag: string, messages: Partial<Catalogue>): void {
  if (!/^[a-z]{2,8}(?:-[a-z0-9]{1,8})*$/i.test(tag)) {
    wrongOption(
      `option "languages": found the key ${JSON.stringify(tag)}, expected a language tag (BCP 47) such as "de" or "pt-BR".`,
    )
  }
  for (const key of Object.keys(messages)) {
    if (englishOf(key) !== undefined) continue
    wrongOption(
      `option "languages.${tag}": found the message key ${JSON.stringify(key)}, expected one of ${messageKeys().join(', ')}.`,
    )
  }
}
