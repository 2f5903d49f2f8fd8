import { createHash } from 'node:crypto'
import { isIPv4 } from 'node:net'
import ipaddr from 'ipaddr.js'

/** Who guesses, as the counters know it. */
export interface Suspect {
  readonly username: string
  readonly address: string
}

/** Names that most databases take for one count as one; the store is not told who they are. */
export function suspect(username: string, address: string): Suspect {
  const name = username
    .normalize('NFKD')
    .replace(/[\p{M}\p{Cf}]/gu, '')
    .trim()
    .toLowerCase()
  const digest = createHash('sha256').update(name).digest('base64url')
  return { username: `${digest}@${address}`, address }
}

/**
 * What stands for the client of a request: an IPv4 address, or the first 64 bits of an IPv6 address, since
 * one host has all of the rest.
 */
export function addressOf(ip: string | undefined): string {
  if (isIPv4(ip ?? '')) return ip as string
  // What a proxy or a client makes up must not become a name of its own, of any length.
  // Some proxies write the port, too.
  const bare = ip?.replace(/^\[(.*)\](?::\d+)?$|^([\d.]+):\d+$/, '$1$2')
  if (bare === undefined || !ipaddr.isValid(bare)) return 'unknown'
  if (!bare.includes(':')) return bare
  const address = ipaddr.process(bare)
  return address instanceof ipaddr.IPv6
    ? `${address.parts
        .slice(0, 4)
        .map((part) => part.toString(16))
        .join(':')}::/64`
    : address.toString()
}
