/** How password hashes begin, and no other string: PHC, crypt(3), Django, Werkzeug, LDAP, Spring and others. */
const beginnings = [
  String.raw`\$(?:2[a-z]?\$|argon2|scrypt\$|pbkdf2|bcrypt|wp\$)`,
  String.raw`\$(?:[1356789y]|gy|md5|sha1|apr1)[$,](?:[^\s$]{0,64}\$){0,3}[./\w]{16}|\$[PHS]\$[./\w]{31}`,
  String.raw`\b(?:pbkdf2|scrypt|bcrypt|argon2)(?:[\w:.-]{0,40}\$(?=\S)|(?::\w{1,10})?:\d{3,9}:)`,
  String.raw`\b(?:md5|sha\d{1,3})\$[^\s$]{0,64}\$(?:\d{1,9}\$)?[\da-f]{32}|\bSCRAM-SHA-\d{1,3}\$\d`,
  String.raw`\{(?:S?SHA|S?MD[45]|CRYPT|BLF-CRYPT|PBKDF2|SCRYPT|BCRYPT|ARGON2|noop)[\w@.-]{0,30}\}(?=\S)`,
  // ASP.NET Core Identity; salt and key of better-auth.
  String.raw`\bAQAAAA[AEI]A[\w+/]{4}AAAAE|\b[\da-f]{32}:[\da-f]{128}\b`,
].join('|')

/** Stored password hashes anywhere in a text. */
export const passwordHashes = new RegExp(String.raw`(?:${beginnings})[\w$+,./:={}-]*`, 'gi')

const isHash = new RegExp(`^(?:${beginnings})`, 'i')

/** Whether a value is a string that begins like a stored password hash. */
export function isPasswordHash(value: unknown): boolean {
  if (typeof value !== 'string') return false
  // Every request looks at all strings of its user, most of which are short.
  const { length } = value
  const mayBe =
    '${'.includes(value.charAt(0)) || (length > 22 && value.includes('$')) || length > 80
  return mayBe && isHash.test(value)
}
