/** The package decodes items one by one. Authenticators send a few dozen, and 530 bytes as a key for RSA with 4096 bits. */
const [mostItems, mostBytes] = [100, 600]

/** The head of an item of CBOR (RFC 8949 §3). Lengths of 64 bits and indefinite ones do not occur, and throw. */
function headAt(bytes: Buffer, at: number) {
  const info = bytes.readUInt8(at) & 31
  const width = info < 24 ? 0 : 2 ** (info - 24)
  const size = width === 0 ? info : bytes.readUIntBE(at + 1, width)
  return { kind: bytes.readUInt8(at) >> 5, size, next: at + 1 + width }
}

/** @returns where an item ends, of which nothing is decoded. @throws if it has too many items or bytes */
function endOf(bytes: Buffer, start: number, most = bytes.length): number {
  let [at, left] = [start, 1]
  for (let items = 0; left > 0 && items < mostItems; items += 1, left -= 1) {
    const { kind, size, next } = headAt(bytes, at)
    at = kind === 2 || kind === 3 ? next + size : next
    left += [0, 0, 0, 0, size, 2 * size, 1, 0][kind] as number
  }
  if (left === 0 && at <= Math.min(bytes.length, start + most)) return at
  throw new Error('too long')
}

/** Checks the public key and the extensions in authenticator data (WebAuthn §6.1). @throws as {@link endOf} */
export function checkSize(data: Buffer): void {
  const flags = data.readUInt8(32)
  const end = flags & 64 ? endOf(data, 55 + data.readUInt16BE(53), mostBytes) : 37
  if (flags & 128) endOf(data, end, mostBytes)
}

/** An attestation object without an attestation, up to the authenticator data (WebAuthn §6.5.4, §8.7). */
const none = Buffer.from('\u00a3cfmtdnonegattStmt\u00a0hauthData', 'latin1')

/**
 * Takes out an attestation that was not asked for, undecoded, but for a short one in the format by which authenticators
 * attest themselves (WebAuthn §5.1.3): certificates are decoded item by item too. @throws as {@link checkSize}
 */
export function withoutAttestation(object: Buffer): Buffer {
  const members: Record<string, Buffer> = {}
  for (let at = 1; at < object.length;) {
    const value = endOf(object, at)
    const end = endOf(object, value)
    members[object.toString('latin1', at + 1, value)] = object.subarray(value, end)
    at = end
  }
  const { fmt, attStmt = none, authData = none } = members
  checkSize(authData.subarray(headAt(authData, 0).next))
  const isRead = fmt?.toString() === 'fpacked' && attStmt.length <= 2048
  return isRead ? object : Buffer.concat([none, authData])
}
