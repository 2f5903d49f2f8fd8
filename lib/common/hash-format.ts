/** The stored hashes of bcrypt, Argon2, scrypt and PBKDF2, anywhere in a text. */
export const passwordHashes = /\$(?:2[a-z]?\$|argon2|scrypt\$|pbkdf2)[\w$+,./=-]*/g

/** Whether a value is a string that begins like a stored password hash. */
export function isPasswordHash(value: unknown): boolean {
  return typeof value === 'string' && value.startsWith('$') && value.search(passwordHashes) === 0
}
