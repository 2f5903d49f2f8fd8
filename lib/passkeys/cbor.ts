/** Items in one part of a response. Authenticators send a few dozen, and the package decodes them one by one. */
const mostItems = 100

/** Bytes of a public key, and of extensions. A key for RSA with 4096 bits has 530. */
const mostBytes = 600

/** The head of an item of CBOR (RFC 8949 §3). */
function headAt(bytes: Buffer, at: number) {
  const first = bytes.readUInt8(at)
  const info = first & 31
  const width = info < 24 ? 0 : 2 ** (info - 24)
  // Items of 2^48 bytes and those of indefinite length do not occur.
  const size = width === 0 ? info : bytes.readUIntBE(at + 1, width)
  return { kind: first >> 5, size, next: at + 1 + width }
}

/** @returns where an item ends, of which nothing is decoded. @throws if it is not well-formed, or has too many items */
function endOf(bytes: Buffer, start: number): number {
  let at = start
  let left = 1
  for (let items = 0; left > 0; items += 1, left -= 1) {
    const { kind, size, next } = headAt(bytes, at)
    if (items === mostItems) throw new Error('too many items')
    at = kind === 2 || kind === 3 ? next + size : next
    left += [0, 0, 0, 0, size, 2 * size, 1, 0][kind] as number
  }
  if (at > bytes.length) throw new Error('too short')
  return at
}

/** Checks what authenticator data (WebAuthn §6.1) have of CBOR: a public key, and extensions. @throws for too much */
export function checkSize(data: Buffer): void {
  const flags = data.readUInt8(32)
  const part = (at: number): number => {
    const end = endOf(data, at)
    if (end - at <= mostBytes) return end
    throw new Error('too long')
  }
  const end = flags & 64 ? part(55 + data.readUInt16BE(53)) : 37
  if (flags & 128) part(end)
}

/** An attestation object without an attestation, up to the authenticator data (WebAuthn §6.5.4, §8.7). */
const none = Buffer.from('\u00a3cfmtdnonegattStmt\u00a0hauthData', 'latin1')

/** Replaces an attestation that was not asked for, undecoded, but for `packed`. @throws as {@link checkSize} */
export function withoutAttestation(object: Buffer): Buffer {
  const { size, next } = headAt(object, 0)
  const members = new Map<string, Buffer>()
  for (let at = next; members.size < size; ) {
    const value = endOf(object, at)
    const end = endOf(object, value)
    members.set(object.toString('latin1', at + 1, value), object.subarray(value, end))
    at = end
  }
  const data = members.get('authData') ?? Buffer.alloc(0)
  checkSize(data.subarray(headAt(data, 0).next))
  return members.get('fmt')?.toString() === 'fpacked' ? object : Buffer.concat([none, data])
}
