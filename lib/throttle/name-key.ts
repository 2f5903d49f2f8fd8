/** Letters with no decomposition in Unicode that databases compare as others all the same. */
const lettersLike = new Map([
  ...pairs('æ=ae œ=oe ø=o ł=l đ=d ð=d þ=th ħ=h ŧ=t ŋ=n ƀ=b ɨ=i ƶ=z ǥ=g ɍ=r ȼ=c ⱥ=a ɇ=e ɏ=y ς=σ'),
  ...pairs('ぁ=あ ぃ=い ぅ=う ぇ=え ぉ=お っ=つ ゃ=や ゅ=ゆ ょ=よ ゎ=わ ゕ=か ゖ=け'),
  ...pairs(
    'ㇰ=く ㇱ=し ㇲ=す ㇳ=と ㇴ=ぬ ㇵ=は ㇶ=ひ ㇷ=ふ ㇸ=へ ㇹ=ほ ㇺ=む ㇻ=ら ㇼ=り ㇽ=る ㇾ=れ ㇿ=ろ',
  ),
])
const special = new RegExp(`[${[...lettersLike.keys()].join('')}]`, 'gu')

/**
 * Gives names that a database may compare as equal one key: without case, accents, invisible characters and the
 * difference between hiragana and katakana. Otherwise each spelling of a name would have a limit of its own. Two
 * users whose names get the same key share one limit, which does no harm.
 */
export function foldName(username: string): string {
  return (
    username
      .normalize('NFKD')
      .replace(/[\p{M}\p{Cc}\p{Cf}\p{Default_Ignorable_Code_Point}]/gu, '')
      .trim()
      // Upper case turns ß into SS and the dotless i into I; not the capital ẞ.
      .toLowerCase()
      .toUpperCase()
      .toLowerCase()
      // Katakana stand 0x60 above the hiragana of the same sound.
      .replace(/[\u30a1-\u30f6\u30fd\u30fe]/g, (letter) =>
        String.fromCharCode(letter.charCodeAt(0) - 0x60),
      )
      .replace(special, (letter) => lettersLike.get(letter) ?? letter)
  )
}

function pairs(text: string): [letter: string, like: string][] {
  return text.split(' ').map((pair) => pair.split('=') as [string, string])
}
