// What remembered tokens cost of memory.
import { JwtService } from '../../dist/esm/lib/index.js'
import { answer, memory, settings } from './serve.mjs'

const { jwt, tokens } = settings
const service = new JwtService({ ...jwt, tokenCache: { max: 2 * tokens, maxBytes: 2 ** 30 } })

function verifyTokens(count) {
  for (let index = 0; index < count; index += 1) {
    const token = service.generateTokenWithClaims({ sub: `user${index}`, jti: Math.random() })
    // A text of its own, in one piece, as it comes from a header.
    service.verify(Buffer.from(token).toString('latin1'))
  }
}

verifyTokens(1000)
const before = memory().heapUsed
verifyTokens(tokens)

answer({ ready: () => true, perThousand: () => ((memory().heapUsed - before) / tokens) * 1000 })
