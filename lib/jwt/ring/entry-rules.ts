import { algorithmOf } from '../../common/algorithms.js'
import { isDerived } from './derived.js'
import { timeOf } from './times.js'
import type { KeyEntry, KeyFileEntry } from '../../../types/keys.js'

/** An entry of a list or of a ring file. */
export type AnyEntry = KeyEntry | KeyFileEntry

/** The member that is wrong, what is wrong with it, and what to do; null where it is right. */
type Fault = readonly [member: string, problem: string, remedy: string] | null

/** What has to hold between the members of one entry. */
export const rules: readonly ((entry: AnyEntry) => Fault)[] = [
  oneKey,
  fittingKey,
  aKid,
  aSigner,
  anEnd,
]

const halves = ['private', 'public', 'secret'] as const

function oneKey(entry: AnyEntry): Fault {
  const found = halves.filter((half) => entry[half] !== undefined)
  if (found.length === 1) return null
  const what = found.length === 0 ? 'found none of them' : `found ${found.join(' and ')}`
  const problem = `${what}, expected one of private, public and secret.`
  return ['', problem, 'Of a pair give the private key: its public half comes with it.']
}

function fittingKey({ alg, secret }: AnyEntry): Fault {
  const isHmac = algorithmOf(alg).family === 'secret'
  if (isHmac === (secret !== undefined)) return null
  return isHmac
    ? ['secret', `is missing, but ${alg} takes a secret.`, 'Give "secret", or another "alg".']
    : ['secret', `found a secret, but ${alg} takes a pair of keys.`, 'Give "private" or "public".']
}

function aKid({ alg, secret, kid }: AnyEntry): Fault {
  if (secret === undefined) return null
  if (kid !== undefined && isDerived(kid, secret)) {
    const remedy = 'Everybody sees it in the tokens: give any other name, such as "2027-01".'
    return ['kid', 'it is made of the secret that it names.', remedy]
  }
  if (kid !== undefined) return null
  const problem = `is missing, but the key of ${alg} is a secret, of which no name can be made.`
  return ['kid', problem, 'Give any name that says nothing about it, such as "2027-01".']
}

function aSigner({ state, public: half }: AnyEntry): Fault {
  if (half === undefined || state === 'verify') return null
  const problem = `is missing, but a key with the state ${state} has to sign.`
  return ['private', problem, 'Give the private key, or state: "verify".']
}

function anEnd({ state, since, until }: AnyEntry): Fault {
  const expected = 'expected ISO 8601 with a zone, such as 2027-01-01T00:10:00Z.'
  for (const [member, text] of Object.entries({ since, until })) {
    if (text !== undefined && timeOf(text) === null) {
      return [member, `found ${JSON.stringify(text.slice(0, 40))}, ${expected}`, 'Mend the time.']
    }
  }
  if (until === undefined || state === 'verify') return null
  const remedy = 'Leave it out, or set state: "verify".'
  return [
    'until',
    `found a time, but the state is ${state}: only a key that verifies ends.`,
    remedy,
  ]
}
