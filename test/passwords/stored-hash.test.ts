import type { FastifyRequest } from 'fastify'
import t from 'tap'
import { createHashReader, storedValue } from '../../lib/passwords/stored-hash.js'
import { thrownBy } from '../helpers/errors.js'

const hashOf = (cost: number): string => `$2b$${String(cost).padStart(2, '0')}$${'a'.repeat(53)}`

/** A reader of hashes, with the warnings that it has given. */
function reader() {
  const warnings: unknown[][] = []
  const log = { warn: (...line: unknown[]) => warnings.push(line) }
  const read = createHashReader({ passwordField: 'pin', cost: 10, maxCost: 14 })
  return { warnings, read: (value: unknown) => read(value, { log } as unknown as FastifyRequest) }
}

t.test('the value of the field, whatever it is; a user without it is a fault', async (t) => {
  t.equal(storedValue({ pin: null }, 'pin'), null)
  t.equal(storedValue(Object.create({ pin: 'x' }) as object, 'pin'), 'x')
  const { code, error } = thrownBy(() => storedValue({ name: 'a', secret: 's' }, 'pin'))
  t.equal(code, 'ERR_AUTH_PASSWORD_FIELD')
  t.match((error.cause as Error).message, /The user has no field "pin"\. .*option "passwordField"/)
})

t.test('a hash of a usual cost is used, without a word', async (t) => {
  const { read, warnings } = reader()
  for (const cost of [4, 10]) t.equal(read(hashOf(cost)), hashOf(cost))
  t.strictSame(warnings, [])
})

t.test('what is no hash is not used, and is not logged', async (t) => {
  const { read, warnings } = reader()
  for (const value of [null, undefined, '', 'plain text', 5, {}]) t.equal(read(value), null)
  t.equal(warnings.length, 6)
  t.notMatch(JSON.stringify(warnings), /plain text/)
})

t.test('a hash above maxCost is not used; one above cost is, with one warning', async (t) => {
  const { read, warnings } = reader()
  for (const cost of [11, 14]) t.equal(read(hashOf(cost)), hashOf(cost))
  t.equal(warnings.length, 1)
  t.match(warnings[0], [{ cost: 11 }, /hashing\.cost/])
  t.equal(read(hashOf(15)), null)
  t.match(warnings[1], [{ cost: 15 }, /hashing\.maxCost/])
  t.notMatch(JSON.stringify(warnings), /\$2b/)
})
