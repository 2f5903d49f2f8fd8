import { assert, property, string } from 'fast-check'
import t from 'tap'
import { digestOf } from '../../lib/common/digest.js'
import {
  newRefreshToken,
  parseRefreshToken,
  seal,
  unseal,
} from '../../lib/sessions/refresh-token.js'

t.test('parseRefreshToken() rejects a token in which any letter was changed', async (t) => {
  const { text } = newRefreshToken()
  t.match(text, /^[\w-]{75}$/)
  const letters = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'
  let accepted = 0
  for (let at = 0; at < text.length; at += 1) {
    for (const letter of letters) {
      const other = `${text.slice(0, at)}${letter}${text.slice(at + 1)}`
      if (other !== text && parseRefreshToken(other) !== null) accepted += 1
    }
  }
  t.equal(accepted, 0)
  for (const other of ['', `${text}A`, text.slice(1), `${text}=`, ` ${text}`, `${text}\n`]) {
    t.equal(parseRefreshToken(other), null, JSON.stringify(other))
  }
  assert(property(string(), (other) => parseRefreshToken(other) === null))
})

t.test('only the presented refresh token decrypts its successor', async (t) => {
  const presented = newRefreshToken()
  const next = newRefreshToken(presented.handle)
  const sealed = seal(next, presented)
  t.strictSame(unseal(sealed, presented), next)
  t.not(seal(next, presented), sealed, 'a nonce of its own')
  t.notOk(Buffer.from(sealed, 'base64url').includes(next.text.slice(0, 8)))
  // Another token of the session, its successor, and what the store knows.
  for (const other of [
    newRefreshToken(presented.handle),
    next,
    { ...presented, text: digestOf(presented.text) },
  ]) {
    t.throws(() => unseal(sealed, other))
  }
  for (const wrong of ['', 'x', sealed.slice(4), `${sealed.slice(0, 20)}AAAA${sealed.slice(24)}`]) {
    t.throws(() => unseal(wrong, presented), JSON.stringify(wrong))
  }
})
