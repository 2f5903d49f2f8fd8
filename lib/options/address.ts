import { ifUnset, wrongOption } from '../errors/errors.js'
import { secureAddress } from '../http/address.js'

/** An address for an error. Credentials may stand before an @. */
export function quotedAddress(address: string): string {
  if (address.includes('@')) return 'an address with an @'
  return JSON.stringify(address) + (address.includes('undefined') ? ifUnset : '')
}

/** See {@link secureAddress}. The identifier of an issuer has no query (RFC 8414 §2). @throws ERR_AUTH_OPTION */
export function checkAddress(option: string, address: string, isIssuer: boolean, remedy = '') {
  if (secureAddress(address) !== null && !(isIssuer && address.includes('?'))) return
  wrongOption(
    `option "${option}": found ${quotedAddress(address)}, expected an address with https (http only to a loopback address), without credentials${isIssuer ? ', query' : ''} and fragment.${remedy}`,
  )
}
