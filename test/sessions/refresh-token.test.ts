import { assert, property, string } from 'fast-check'
import t from 'tap'
import {
  digestOf,
  newRefreshToken,
  parseRefreshToken,
  seal,
  unseal,
} from '../../lib/sessions/refresh-token.js'

t.test('a token is 56 bytes, of which 16 are those of its session', async (t) => {
  const first = newRefreshToken()
  const next = newRefreshToken(first.handle)
  t.match(first.text, /^[\w-]{75}$/)
  t.strictSame(next.handle, first.handle)
  t.not(next.text, first.text)
  t.not(newRefreshToken().handle.toString('hex'), first.handle.toString('hex'))
  t.strictSame(parseRefreshToken(first.text), first)
  t.equal(digestOf(first.text).length, 43)
})

t.test('a text with any other letter is none', async (t) => {
  const { text } = newRefreshToken()
  const letters = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'
  let taken = 0
  for (let at = 0; at < text.length; at += 1) {
    for (const letter of letters) {
      const other = `${text.slice(0, at)}${letter}${text.slice(at + 1)}`
      if (other !== text && parseRefreshToken(other) !== null) taken += 1
    }
  }
  t.equal(taken, 0)
  for (const other of ['', `${text}A`, text.slice(1), `${text}=`, ` ${text}`, `${text}\n`]) {
    t.equal(parseRefreshToken(other), null, JSON.stringify(other))
  }
  assert(property(string(), (other) => parseRefreshToken(other) === null))
})

t.test('only the token that was presented opens what was sealed for it', async (t) => {
  const presented = newRefreshToken()
  const next = newRefreshToken(presented.handle)
  const sealed = seal(next, presented)
  t.strictSame(unseal(sealed, presented), next)
  t.not(seal(next, presented), sealed, 'a nonce of its own')
  t.notOk(Buffer.from(sealed, 'base64url').includes(next.text.slice(0, 8)))
  // Not even another token of the same session, nor what the store knows.
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
