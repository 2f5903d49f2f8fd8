// To be imported before lib/cli/: RSA pairs take 0.2 s to 2 s of CPU each. Node.js makes the first ones; those are
// then given once more in turn, so that a ring, which holds four keys at most here, has none of them twice.
import crypto, { type KeyPairKeyObjectResult } from 'node:crypto'
import { syncBuiltinESMExports } from 'node:module'
import { isDeepStrictEqual, promisify } from 'node:util'

const generate = promisify(crypto.generateKeyPair) as (
  type: string,
  options: object | undefined,
) => Promise<KeyPairKeyObjectResult>
/** By the number of bits, and how many of them there are. */
const stocks = new Map([
  [2048, { pairs: [] as KeyPairKeyObjectResult[], size: 4 }],
  [3072, { pairs: [] as KeyPairKeyObjectResult[], size: 1 }],
])

async function fromStock(
  type: string,
  options?: { modulusLength?: number },
): Promise<KeyPairKeyObjectResult> {
  const modulusLength = options?.modulusLength ?? 0
  const stock = stocks.get(modulusLength)
  const isPlain = type === 'rsa' && isDeepStrictEqual(options, { modulusLength })
  if (stock === undefined || !isPlain) return generate(type, options)
  const { pairs, size } = stock
  const pair = (pairs.length < size ? undefined : pairs.shift()) ?? (await generate(type, options))
  pairs.push(pair)
  return pair
}

Object.defineProperty(crypto.generateKeyPair, promisify.custom, { value: fromStock })
syncBuiltinESMExports()
