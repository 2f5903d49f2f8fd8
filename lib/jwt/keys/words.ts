/**
 * The 150 commonest pairs of letters in English and nine other European languages, grouped by the first
 * letter. They make up 84 % of the pairs in words, and 22 % of those in random letters.
 */
const commonPairs = new Set(
  'acdgilmnrstu be caehiort daeio eacdeflmnqrstx faeior geiu haeio iacdefglmnoprst jes ke ladeilotu maeiop nacdegiostu obdfgklmnoprtuvw paelort qu radeiorstu sacehiostu taehiorstuy ueilnrst vaei wai'
    .split(' ')
    .flatMap(([first, ...seconds]) => seconds.map((second) => `${first}${second}`)),
)

/** Words that are common in made-up secrets. */
const telltale =
  /secret|passwo?r[dt]|passphrase|change|example|sample|testing|dummy|replace|random|bytes|token|fastify|authn|server|production|development|staging|default|private|super|insecure|geheim/g

/** A text with this much evidence, in bits, counts as made of words. */
const enough = 20

/**
 * Whether a text is made of words. Each pair of neighbouring characters adds evidence for or against, in bits: the
 * binary logarithm of how much more frequent the pair is in words than in random letters.
 */
export function isInWords(text: string): boolean {
  // Accents are removed: é becomes e.
  const isAscii = !/[^\0-\x7f]/.test(text)
  const plain = isAscii ? text : text.normalize('NFD').replace(/\p{M}/gu, '')
  let evidence = 10 * (unmasked(plain).match(telltale)?.length ?? 0)
  for (let at = 1; at < plain.length; at++) evidence += evidenceOf(plain.slice(at - 1, at + 1))
  return evidence >= enough || (!isAscii && isForeign(plain))
}

function evidenceOf(pair: string): number {
  if (/^(?:[a-z]{2}|[A-Z][A-Za-z])$/.test(pair)) {
    return commonPairs.has(pair.toLowerCase()) ? 2 : -2
  }
  // A space is evidence for words: no encoding of random bytes contains one.
  if (/[a-z] | [a-z]/i.test(pair)) return 1
  // A change between letter and digit is evidence against words.
  return /[a-z]\d|\d[a-z]/i.test(pair) ? -2 : 0
}

/** Digits and signs that people write in place of letters, such as 0 for o. */
const masks = new Map(
  ['0o', '1i', '3e', '4a', '5s', '7t', '@a', '$s'].map(([sign, letter]) => [sign, letter]),
)

function unmasked(text: string): string {
  return text.toLowerCase().replace(/[013457@$]/g, (sign) => String(masks.get(sign)))
}

/** Whether half of the characters are letters that no encoding of random bytes uses: Greek, Cyrillic, Han and so on. */
function isForeign(text: string): boolean {
  const letters = text.match(/\p{L}/gu) ?? []
  return letters.filter((letter) => letter > '\u024f').length >= text.length / 2
}
