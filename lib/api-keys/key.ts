import { randomInt } from 'node:crypto'
import { digestOf } from '../common/digest.js'
import { isUsableName } from '../users/user.js'
import type { ApiKeyInfo, ApiKeyStore, IssuedApiKey, StoredApiKey } from '../../types/api-keys.js'

const digits = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'

/** The most revoked and expired keys of an owner that a store keeps: without a limit, a client could fill it. */
export const maxEnded = 200

/** The operator of an app may make any number of keys: `apiKeys.maxPerOwner` limits its clients. */
export const noLimit = Number.MAX_SAFE_INTEGER

/** Makes a key: 16 digits that name it, and 32 that are secret (190 random bits). */
export function newKey(
  prefix: string,
  { owner, name, scopes, expiresAt }: Pick<ApiKeyInfo, 'owner' | 'name' | 'scopes' | 'expiresAt'>,
): { stored: StoredApiKey; issued: IssuedApiKey } {
  const random = Array.from({ length: 48 }, () => digits[randomInt(62)]).join('')
  const key = sealed(`${prefix}_${random}`)
  const stored = {
    id: random.slice(0, 16),
    // A slow hash would add nothing: 190 random bits cannot be guessed.
    digest: digestOf(key),
    owner: String(owner),
    ownerType: typeof owner as 'string' | 'number',
    name,
    scopes: [...scopes],
    createdAt: Date.now() / 1000,
    expiresAt: expiresAt && expiresAt.getTime() / 1000,
    lastUsedAt: null,
    revokedAt: null,
    replacedBy: null,
  }
  return { stored, issued: { ...infoOf(stored), key } }
}

/** Returns the id in a key. The form is not checked here: the caller does that, or compares the whole key. */
export const idOf = (key: string): string => key.slice(-54, -38)

/** Says what is wrong with the form or the checksum of a key, for the log. @param start - the prefix and `_` */
export function formatProblemOf(key: string, start: string): 'no API key' | 'checksum' | null {
  const isKey = key.startsWith(start) && /^[0-9A-Za-z]{54}$/.test(key.slice(start.length))
  if (!isKey) return 'no API key'
  return sealed(key.slice(0, -6)) === key ? null : 'checksum'
}

/** A key with its checksum: CRC-32 (Node has `zlib.crc32` since 20.15 only) as a base62 number with six digits. */
export function sealed(start: string): string {
  let crc = -1
  for (const byte of Buffer.from(start)) {
    crc ^= byte
    for (let bit = 0; bit < 8; bit++) crc = (crc >>> 1) ^ (crc & 1 ? 0xed_b8_83_20 : 0)
  }
  const places = [5, 4, 3, 2, 1, 0].map((at) => Math.floor((~crc >>> 0) / 62 ** at) % 62)
  return start + places.map((place) => digits[place]).join('')
}

export async function findKey(
  store: ApiKeyStore,
  id: string,
): Promise<(ApiKeyInfo & Pick<StoredApiKey, 'digest'>) | null> {
  const stored = await store.find(id)
  return stored === null ? null : { ...infoOf(stored, id), digest: stored.digest }
}

/** The latest time that a `Date` can hold, in milliseconds. */
export const latestTime = 8.64e15

/** @throws TypeError for a key that a store did not return whole: without `expiresAt`, it would never expire */
export function infoOf(stored: StoredApiKey, id = stored.id): ApiKeyInfo {
  const { digest, ownerType, name, scopes, replacedBy } = stored
  const owner = ownerType === 'number' ? Number(stored.owner) : stored.owner
  const times = [stored.createdAt, stored.expiresAt, stored.lastUsedAt, stored.revokedAt]
  const isWhole =
    stored.id === id &&
    isUsableName(owner) &&
    [digest, stored.owner, ownerType, name].every((text) => typeof text === 'string') &&
    // No `Date` holds a time beyond these, and a comparison with an invalid one is false: the key would never expire.
    times.every(
      (time) => time === null || (Number.isFinite(time) && Math.abs(time) <= latestTime / 1000),
    ) &&
    Array.isArray(scopes) &&
    replacedBy !== undefined
  if (!isWhole)
    throw new TypeError('the store of API keys returned a key with a missing or invalid member')
  const [createdAt, expiresAt, lastUsedAt, revokedAt] = times.map((time) =>
    time === null ? null : new Date(Math.round(time * 1000)),
  )
  const dates = { createdAt, expiresAt, lastUsedAt, revokedAt }
  return { id, owner, name, scopes: [...scopes], ...dates, replacedBy } as ApiKeyInfo
}
