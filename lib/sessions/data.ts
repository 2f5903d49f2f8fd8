/** What the plugin itself keeps with a session. */
export interface SessionData {
  /** The `iat` of its first access token. */
  readonly issuedAt: number
  /** Whose session it is, as the user service is asked: a number stays one. */
  readonly sub: string | number
}

/** The text for the store, which has the name of the user beside it. */
export function writeData({ issuedAt, sub }: SessionData): string {
  return JSON.stringify({ iat: issuedAt, ...(typeof sub === 'number' && { sub }) })
}

/**
 * Reads the text of a store. Of a text that was not written by {@link writeData} the session counts as very old.
 *
 * @param sub - as the store has it
 */
export function readData(text: string, sub: string): SessionData {
  try {
    const { iat, sub: number } = JSON.parse(text) as { iat?: unknown; sub?: unknown }
    return {
      issuedAt: typeof iat === 'number' ? iat : 0,
      sub: typeof number === 'number' ? number : sub,
    }
  } catch {
    return { issuedAt: 0, sub }
  }
}
