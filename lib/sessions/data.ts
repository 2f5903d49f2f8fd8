/** What the plugin itself keeps with a session. */
export interface SessionData {
  /** When it began, by the clock that the users' `validAfterField` goes by: seconds since 1970. */
  readonly begun: number
  /** Whose session it is, as the user service is asked: a number stays one. */
  readonly sub: string | number
}

/** The text for the store, which has the name of the user beside it. */
export function writeData({ begun, sub }: SessionData): string {
  return JSON.stringify({ begun, ...(typeof sub === 'number' && { sub }) })
}

/**
 * Reads the text of a store. Of a text that was not written by {@link writeData} the session counts as very old.
 *
 * @param sub - as the store has it
 */
export function readData(text: string, sub: string): SessionData {
  try {
    const { begun, sub: number } = JSON.parse(text) as { begun?: unknown; sub?: unknown }
    return {
      begun: typeof begun === 'number' ? begun : 0,
      sub: typeof number === 'number' ? number : sub,
    }
  } catch {
    return { begun: 0, sub }
  }
}
