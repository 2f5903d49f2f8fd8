import t from 'tap'
import { isCanonical } from '../../lib/http/authorization.js'
import { same } from '../helpers/flows.js'

t.test('exactly the texts that an encoder writes', async (t) => {
  for (const encoding of ['base64', 'base64url'] as const) {
    const letters = encoding === 'base64' ? '+/' : '-_'
    const alphabet = `ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789${letters}`
    for (const start of ['', 'A', 'AA', 'AAA', 'AAAA', 'AAAAA']) {
      for (const letter of alphabet) {
        const text = start + letter
        const written = Buffer.from(text, encoding).toString(encoding).replaceAll('=', '')
        const wanted = [text, written === text, written === text]
        same(t, [text, isCanonical(text), isCanonical(`${text}==`, text.length)], wanted, text)
      }
    }
  }
  t.equal(isCanonical(''), true)
})
