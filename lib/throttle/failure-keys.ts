import { createHash } from 'node:crypto'
import { isIPv4 } from 'node:net'
import ipaddr from 'ipaddr.js'

/** The keys under which failed attempts are counted. */
export interface FailureKeys {
  /** Username and address together. The name is a digest: Redis must not learn usernames. */
  readonly username: string
  readonly address: string
}

/** Spellings that many databases take for one name, such as other case or width, share one key. */
export function failureKeys(username: string, ip: string | undefined): FailureKeys {
  const name = username.normalize('NFKC').trim().toLowerCase()
  const digest = createHash('sha256').update(name).digest('base64url')
  const address = addressOf(ip)
  return { username: `user:${digest}@${address}`, address: `address:${address}` }
}

/** @returns an IPv4 address, or the first 64 bits of an IPv6 address, since one host has all of the rest */
export function addressOf(ip: string | undefined): string {
  if (ip !== undefined && isIPv4(ip)) return ip
  // Some proxies append the port. What is no address must not become a key, or a client could invent one a request.
  const bare = ip?.replace(/^\[(.*)\](?::\d+)?$|^([\d.]+):\d+$/, '$1$2')
  if (bare === undefined || !ipaddr.isValid(bare)) return 'unknown'
  const address = ipaddr.process(bare)
  if (address instanceof ipaddr.IPv4) return address.toString()
  const network = address.parts.slice(0, 4).map((part) => part.toString(16))
  return `${network.join(':')}::/64`
}
