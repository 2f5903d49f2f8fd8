import t from 'tap'
import { didYouMean } from '../../lib/common/closest.js'

t.test('a name is suggested if fewer than half of its letters are different', async (t) => {
  const known = ['scope', 'scopesOf', 'jwt']
  t.equal(didYouMean('Scops', known), ' Did you mean "scope"?')
  t.equal(didYouMean('scopeof', known, 'access.'), ' Did you mean "access.scopesOf"?')
  t.equal(didYouMean('jwks', ['jwt']), '', 'half of them')
  for (const name of ['', 'x', 'password']) t.equal(didYouMean(name, known), '', name)
})
