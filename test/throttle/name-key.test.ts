import t from 'tap'
import { foldName } from '../../lib/throttle/name-key.js'

/** What the collations of common databases take for one name. */
const same: Record<string, readonly string[]> = {
  'case and accents': ['José', 'jose', 'JOSÉ', 'jose\u0301', 'ＪＯＳＥ', ' jose '],
  'sharp s': ['Strauß', 'STRAUSS', 'strauss', 'STRAUẞ'],
  ligatures: ['Æsop', 'aesop', 'ÆSOP', 'AEsop'],
  œ: ['Cœur', 'coeur', 'CŒUR'],
  strokes: ['Søren Łukasz Đorđe', 'soren lukasz dorde', 'SØREN ŁUKASZ ĐORĐE'],
  'more strokes': ['ħŧƀɨƶǥɍȼⱥɇɏ', 'htbizgrcaey', 'ĦŦɃƗƵǤɌȻȺɆɎ'],
  'þ, ð, ŋ': ['Þórðurŋ', 'thordurn', 'ÞÓRÐURŊ'],
  'final sigma': ['Οδυσσεύς', 'οδυσσευσ', 'ΟΔΥΣΣΕΥΣ'],
  'the i of Turkish': ['ılgaz', 'ilgaz', 'İlgaz', 'ILGAZ'],
  kana: ['さくら', 'サクラ', 'ｻｸﾗ'],
  'kana with marks': ['がっこう', 'カツコウ', 'ｶﾞｯｺｳ', 'かつこう'],
  'small kana of Ainu': ['ㇰㇿ', 'クロ', 'くろ'],
  'iteration marks': ['ここゝ', 'ココヽ'],
  'ligatures of typography': ['ﬁnn', 'finn'],
  'invisible characters': [
    'alice',
    'al\u00adice',
    'ali\u200bce',
    'alice\u3164',
    'alice\ufe0f',
    'ali\u{e0101}ce',
    'ali\u115fce',
    'al\u034fice',
    'ali\u0085ce',
  ],
}

t.test('names that a database may take for one are one', async (t) => {
  for (const [name, spellings] of Object.entries(same)) {
    t.equal(
      new Set(spellings.map(foldName)).size,
      1,
      `${name}: ${spellings.map(foldName).join(', ')}`,
    )
  }
})

t.test('other names are others', async (t) => {
  const names =
    'alice alicia alicе bob さくら ちくら ο o σ s 5 alice@example.org alice+1@example.org toString'
  const all = [...names.split(' '), 'al ice', '__proto__']
  t.equal(new Set(all.map(foldName)).size, all.length)
})
