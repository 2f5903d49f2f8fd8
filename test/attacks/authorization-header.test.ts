import * as fc from 'fast-check'
import t, { type Test } from 'tap'
import { badBearer, malformedBasic, namelessBasic, otherSchemes } from './corpus/headers.js'
import { basic, bearer, passwords, secret, users } from '../helpers/app.js'
import {
  assertRejected,
  credulousService,
  isQuiet,
  isRejected,
  target,
  type Target,
} from '../helpers/attacks.js'
import { anyCharacter, bounded } from '../helpers/cases.js'
import {
  basicChallenge,
  bearerChallenge,
  isWelcome,
  messages,
  tokenChallenge,
} from '../helpers/flows.js'

const uses = { config: 'configBasic', both: ['basic', 'jwt'] } as const
const allUses = Object.keys(uses) as (keyof typeof uses)[]

const hash = users[0]?.password ?? ''
const good = { username: 'alice', password: passwords.alice }
const secrets = [passwords.alice, hash, secret, basic('alice', passwords.alice).authorization]

function subjectOf(t: Test): Promise<Target> {
  const service = credulousService(hash)
  return target(t, service, { jwt: { secret }, basic: good, hashing: { cost: 4 } }, uses)
}

/** What each kind of header is: wrong credentials or none, and the error and challenge where both schemes are accepted. */
const kinds = {
  malformed: ['wrong', messages.none, bearerChallenge],
  nameless: ['wrong', messages.invalid, bearerChallenge],
  bearer: ['wrong', messages.jwtInvalid, tokenChallenge('The token is invalid')],
  other: ['none', messages.none, bearerChallenge],
} as const

// Nearly good credentials of each scheme: authAttacks() in testing/attacks.test.ts.
t.test('a header that RFC 7617 or 6750 does not allow is rejected without a lookup', async (t) => {
  const subject = await subjectOf(t)
  const { app, take, service } = subject
  const token = app.jwtService.generateToken('alice')
  const headers = {
    malformed: malformedBasic(good),
    nameless: namelessBasic(good),
    bearer: badBearer({ pair: good, token }),
    other: otherSchemes({ pair: good, token }),
  }
  for (const [name, [kind, error, bearerPart]] of Object.entries(kinds)) {
    const sent = headers[name as keyof typeof headers]
    t.equal(new Set(sent).size, sent.length, `${sent.length} headers, each another one`)
    const both = { kind, error, challenge: [basicChallenge, bearerPart] }
    const config = { kind, error, challenge: basicChallenge }
    for (const header of sent) {
      const title = JSON.stringify(header.slice(0, 60))
      await isRejected(t, subject, 'both', header, both, title)
      if (name !== 'bearer') await isRejected(t, subject, 'config', header, config, title)
    }
    // The reason in the log says that a client has sent one of these words for its token.
    const isWord = (header: string) => /^Bearer (?:undefined|null|\[object Object\])$/.test(header)
    const quoted = sent.filter((header) => header.length > 12 && !isWord(header))
    isQuiet(t, subject, [...secrets, ...quoted])
  }
  t.same(service.asked, [], 'no user was looked up')
  // Valid credentials are accepted, so what is rejected beside them is rejected for its own flaw.
  const pair = basic('alice', passwords.alice)
  for (const [use, headers] of [
    ['config', pair],
    ['both', pair],
    ['both', bearer(token)],
  ] as const) {
    isWelcome(t, await app.inject({ url: `/${use}/required`, headers }), 'alice', use)
    t.equal(take(), 1, 'the handler ran')
  }
})

const scheme = fc.constantFrom('Basic', 'Bearer', 'BEARER', 'bAsIc', 'Digest', 'Basic:', '')
const gap = fc.constantFrom(' ', '  ', '', '\t', ', ', '\u00a0')

t.test('no generated header authenticates a user or causes an error', async (t) => {
  const subject = await subjectOf(t)
  const text = fc.oneof(
    fc.string({ unit: anyCharacter, maxLength: 60 }),
    fc.base64String({ maxLength: 200 }),
    fc.string({ maxLength: 60 }),
    fc.stringMatching(/^[\w.~+/=-]{0,80}$/),
  )
  await fc.assert(
    fc.asyncProperty(
      fc.tuple(scheme, gap, text),
      fc.constantFrom(...allUses),
      async (parts, use) => {
        await assertRejected(subject, use, parts.join(''))
      },
    ),
    bounded(250),
  )
  isQuiet(t, subject, secrets)
})
