import { createHash } from 'node:crypto'
import { isIPv4 } from 'node:net'
import ipaddr from 'ipaddr.js'
import { foldName } from './name-key.js'

/** The keys under which failed attempts are counted. */
export interface Suspect {
  /** Username and address together, as a digest: the store must not learn usernames. */
  readonly username: string
  readonly address: string
  /** The first 48 bits of an IPv6 address, which is what many customers are given; null for others. */
  readonly network: string | null
}

/** The keys under which the failures of a username from a client are counted. */
export function suspect(username: string, ip: string | undefined): Suspect {
  const digest = createHash('sha256').update(foldName(username)).digest('base64url')
  const client = clientKeys(ip)
  return { username: `${digest}@${client.address}`, ...client }
}

/** The keys of a client, whatever the username. */
export function clientKeys(ip: string | undefined): Omit<Suspect, 'username'> {
  const address = addressOf(ip)
  return { address, network: networkOf(address) }
}

/**
 * What stands for the client of a request: an IPv4 address, or the first 64 bits of an IPv6 address, since
 * one host has all of the rest.
 */
export function addressOf(ip: string | undefined): string {
  if (isIPv4(ip ?? '')) return ip as string
  // A text that is no address must not become a key: a client could make up a new one for every request.
  // Some proxies append the port.
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

/** The /48 network of an address as {@link addressOf} writes it. */
function networkOf(address: string): string | null {
  const parts = address.split(':')
  return parts.length === 1 ? null : `${parts.slice(0, 3).join(':')}::/48`
}
