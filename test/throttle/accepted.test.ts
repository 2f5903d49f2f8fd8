import { inspect } from 'node:util'
import t from 'tap'
import { AcceptedPasswords } from '../../lib/throttle/accepted.js'
import { movableClock } from '../helpers/load.js'

t.test('a password that was accepted is known, and others are told from it', async (t) => {
  const accepted = new AcceptedPasswords({ max: 10, ttl: 60 })
  t.equal(accepted.matches('alice', 'right'), null, 'nothing is known yet')
  accepted.add('alice', 'right')
  t.equal(accepted.matches('alice', 'right'), true)
  t.equal(accepted.matches('alice', 'wrong'), false)
  t.equal(accepted.matches('bob', 'right'), null)
  accepted.delete('alice')
  t.equal(accepted.matches('alice', 'right'), null)
})

t.test('it is known for its time, and only the last ones are', async (t) => {
  const clock = movableClock(t)
  const accepted = new AcceptedPasswords({ max: 2, ttl: 60 })
  for (const name of ['alice', 'bob', 'carol']) accepted.add(name, 'right')
  t.equal(accepted.matches('alice', 'right'), null)
  t.equal(accepted.matches('carol', 'right'), true)
  await clock.advance(60_000)
  t.equal(accepted.matches('carol', 'right'), null)
})

t.test('no password stands in it', async (t) => {
  const accepted = new AcceptedPasswords({ max: 2, ttl: 60 })
  accepted.add('alice', 'open sesame')
  t.notMatch(inspect(accepted, { showHidden: true, depth: null }), /open sesame/)
})
