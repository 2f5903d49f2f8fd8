import { createHash } from 'node:crypto'

/** SHA-256 in base64url. */
export function digestOf(data: Buffer | string): string {
  return createHash('sha256').update(data).digest('base64url')
}
