import * as Type from '@sinclair/typebox/type'
import { wrongOption } from '../../errors/errors.js'
import { anyFunction, check, strict, text } from '../../options/check.js'
import { tooLate } from '../../users/user.js'
import type { ForeignHash } from '../../../types/passwords.js'
import { noStrength, type HashKind, type OnLate } from './hash-kind.js'

const schema = strict(
  {
    pattern: Type.Any(),
    sample: text('a stored text that "pattern" matches'),
    verify: anyFunction('a function (password, storedHash) that returns true or false'),
  },
  'an object with pattern, sample and verify',
)

/** Hashes that a function of the app verifies. @param seconds - after which a request that waits for it gets a 503 */
export function foreignKind(
  entry: object,
  where: string,
  kinds: readonly HashKind[],
  seconds: number | undefined,
): HashKind {
  const { pattern, sample, verify } = checkForeign(entry, where, kinds)
  const ask = async (password: string, text: string, onLate: OnLate): Promise<boolean> => {
    let late: Error | undefined
    const expire = (): void => onLate((late = tooLate(seconds as number)))
    const timer = seconds === undefined ? undefined : setTimeout(expire, seconds * 1000)
    try {
      const answer: unknown = await verify(password, text)
      if (typeof answer !== 'boolean') {
        throw new TypeError(
          `"verify" of an entry of "hashing.migrateFrom" returned ${answer === null ? 'null' : `a value of type ${typeof answer}`}, expected true or false.`,
        )
      }
      // The client has its answer, so that the other work would be in vain.
      if (late !== undefined) throw late
      return answer
    } finally {
      clearTimeout(timer)
    }
  }
  const kind: HashKind = {
    name: 'other',
    longest: Infinity,
    load: async () => undefined,
    parse: (text) =>
      pattern.test(text) ? { kind, name: 'other', text, strength: noStrength } : null,
    memory: () => 0,
    work: () => 0,
    matches: (password, { text }, onLate) => ask(password, text, onLate),
    missing: (wanted, done) => (done === null ? [wanted] : []),
    spend: (password, _, onLate) => ask(password, sample, onLate),
  }
  return kind
}

function checkForeign(entry: object, where: string, kinds: readonly HashKind[]): ForeignHash {
  const { pattern, sample, verify } = check<ForeignHash>(schema, entry, where)
  if (!(pattern instanceof RegExp) || pattern.global || pattern.sticky) {
    wrongOption(
      `option "${where}.pattern": found ${pattern instanceof RegExp ? String(pattern) : `a value of type ${typeof pattern}`}, expected a regular expression without the flags g and y, which make it remember where it stopped. Write it as in /^pbkdf2_sha256\\$/.`,
    )
  }
  if (typeof sample !== 'string' || !pattern.test(sample)) {
    wrongOption(
      `option "${where}.sample": found a text that "pattern" does not match, expected a stored text of that kind. Take that of a deleted account.`,
    )
  }
  if (kinds.some((kind) => kind.parse(sample) !== null)) {
    wrongOption(
      `option "${where}.sample": found a hash of bcrypt, argon2 or scrypt, which is verified without "verify". Write { algorithm, … } in place of this entry.`,
    )
  }
  return { pattern, sample, verify: verify.bind(entry) }
}
