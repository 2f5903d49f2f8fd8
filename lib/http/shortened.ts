/**
 * Drops what databases reject: control characters, and half of a surrogate pair. A Unix socket and a closed connection
 * have no address, whatever Fastify's types say.
 */
export function shortened(text = '', most: number): string {
  return text
    .replace(/\p{Cc}/gu, '')
    .slice(0, most)
    .toWellFormed()
}
