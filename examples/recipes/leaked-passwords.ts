import { createHash } from 'node:crypto'

/** Only the first five of the 40 digits of a digest are sent (k-anonymity): about a thousand leaked passwords share them. */
export async function isNotLeaked(
  password: string,
  ranges = 'https://api.pwnedpasswords.com/range',
): Promise<boolean> {
  const digest = createHash('sha1').update(password).digest('hex').toUpperCase()
  const signal = AbortSignal.timeout(2000)
  const response = await fetch(`${ranges}/${digest.slice(0, 5)}`, { signal })
  if (!response.ok) throw new Error(`The list of leaked passwords answered ${response.status}.`)
  const lines = (await response.text()).split('\n')
  return !lines.some((line) => line.startsWith(digest.slice(5)))
}
