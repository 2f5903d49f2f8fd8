import { sign, type KeyObject } from 'node:crypto'

/** A value of DER (ITU-T X.690 §8.1), of up to 65,535 bytes. */
function der(tag: number, ...parts: Buffer[]): Buffer {
  const body = Buffer.concat(parts)
  const { length } = body
  const size =
    length < 0x80 ? [length] : length < 0x100 ? [0x81, length] : [0x82, length >> 8, length & 0xff]
  return Buffer.concat([Buffer.from([tag, ...size]), body])
}

const sequence = (...parts: Buffer[]): Buffer => der(0x30, ...parts)
const objectId = (hex: string): Buffer => der(0x06, Buffer.from(hex, 'hex'))
const time = (text: string): Buffer => der(0x18, Buffer.from(text))

/** The extension that says for which hosts a certificate is (RFC 5280 §4.2.1.6). */
const subjectAltName = (hosts: readonly string[]): Buffer =>
  sequence(
    objectId('551d11'),
    der(0x04, sequence(...hosts.map((host) => der(0x82, Buffer.from(host))))),
  )

/**
 * A self-signed X.509 certificate (RFC 5280 §4.1) of an elliptic curve key, in DER.
 *
 * @param hosts - for clients that compare the name
 */
export function certificateOf(
  privateKey: KeyObject,
  publicKey: KeyObject,
  hosts: readonly string[] = [],
): Buffer {
  const ecdsaWithSha256 = sequence(objectId('2a8648ce3d040302'))
  const commonName = sequence(objectId('550403'), der(0x0c, Buffer.from('test')))
  const name = sequence(der(0x31, commonName))
  const content = sequence(
    der(0xa0, der(0x02, Buffer.from([2]))),
    der(0x02, Buffer.from([1])),
    ecdsaWithSha256,
    name,
    sequence(time('20200101000000Z'), time('20990101000000Z')),
    name,
    publicKey.export({ type: 'spki', format: 'der' }),
    ...(hosts.length > 0 ? [der(0xa3, sequence(subjectAltName(hosts)))] : []),
  )
  const signature = sign('sha256', content, privateKey)
  return sequence(content, ecdsaWithSha256, der(0x03, Buffer.from([0]), signature))
}

/** PEM text (RFC 7468) of DER. */
export function pemOf(label: string, bytes: Buffer): string {
  const lines = bytes.toString('base64').match(/.{1,64}/g) ?? []
  return `-----BEGIN ${label}-----\n${lines.join('\n')}\n-----END ${label}-----\n`
}
