import * as fc from 'fast-check'
import t, { type Test } from 'tap'
import {
  badBearer,
  malformedBasic,
  namelessBasic,
  otherSchemes,
  wrongPairs,
} from './corpus/headers.js'
import { basic, bearer, passwords, secret, users } from '../helpers/app.js'
import {
  assertRejected,
  credulousService,
  isQuiet,
  isRejected,
  target,
  type Expected,
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

const uses = { basic: 'basic', config: 'configBasic', jwt: 'jwt', both: ['basic', 'jwt'] } as const
type Use = keyof typeof uses
const allUses = Object.keys(uses) as Use[]

const hash = users[0]?.password ?? ''
const configured = { username: 'alice', password: passwords.alice }

function subjectOf(t: Test): Promise<Target> {
  return target(
    t,
    credulousService(hash),
    { jwt: { secret }, basic: configured, hashing: { cost: 4 } },
    uses,
  )
}

/** What a header is, which decides how each authenticator answers it. */
type Kind = 'malformed Basic' | 'wrong Basic' | 'bad Bearer' | 'other'

const bearerProblem = tokenChallenge('The token is invalid')
const wrong = (error: string, challenge: Expected['challenge']): Expected => ({
  kind: 'wrong',
  error,
  challenge,
})
const absent = (challenge: Expected['challenge']): Expected => ({
  kind: 'none',
  error: messages.none,
  challenge,
})

const challenges = [basicChallenge, bearerChallenge]
const wrongBasic = (error: string): Record<Use, Expected> => ({
  basic: wrong(error, basicChallenge),
  config: wrong(error, basicChallenge),
  jwt: absent(bearerChallenge),
  both: wrong(error, challenges),
})
const noBasic = { basic: absent(basicChallenge), config: absent(basicChallenge) }

const expectations: Record<Kind, Record<Use, Expected>> = {
  'malformed Basic': wrongBasic(messages.none),
  'wrong Basic': wrongBasic(messages.invalid),
  'bad Bearer': {
    ...noBasic,
    jwt: wrong(messages.jwtInvalid, bearerProblem),
    both: wrong(messages.jwtInvalid, [basicChallenge, bearerProblem]),
  },
  other: { ...noBasic, jwt: absent(bearerChallenge), both: absent(challenges) },
}

const secrets = [passwords.alice, hash, secret, basic('alice', passwords.alice).authorization]

/** Every header is rejected by every authenticator, under every mark. */
async function areRejected(
  t: Test,
  subject: Target,
  kind: Kind,
  headers: readonly string[],
  asked: readonly Use[] = allUses,
): Promise<void> {
  t.equal(new Set(headers).size, headers.length, `${headers.length} headers, each another one`)
  for (const header of headers) {
    const title = header.length > 60 ? `${header.slice(0, 60)}… (${header.length})` : header
    for (const use of asked) {
      await isRejected(t, subject, use, header, expectations[kind][use], JSON.stringify(title))
    }
  }
  // The reason in the log says that a client has sent one of these words for its token.
  const isWord = (header: string): boolean =>
    /^Bearer (?:undefined|null|\[object Object\])$/.test(header)
  const sent = headers.filter((header) => header.length > 12 && !isWord(header))
  isQuiet(t, subject, [...secrets, ...sent])
}

/** Valid credentials are accepted, so what is rejected beside them is rejected for its own flaw. */
async function welcomes({ app, take, service }: Target, t: Test): Promise<void> {
  const pair = basic('alice', passwords.alice)
  const token = bearer(app.jwtService.generateToken('alice'))
  const good = { basic: [pair], config: [pair], jwt: [token], both: [pair, token] }
  for (const use of allUses) {
    for (const headers of good[use]) {
      isWelcome(t, await app.inject({ url: `/${use}/required`, headers }), 'alice', use)
      t.equal(take(), 1, 'the handler ran')
    }
  }
  t.same(service.asked.splice(0), ['alice', 'alice', 'alice', 'alice'])
}

const good = { username: 'alice', password: passwords.alice }

t.test('a Basic header that RFC 7617 does not allow is rejected without a lookup', async (t) => {
  const subject = await subjectOf(t)
  await areRejected(t, subject, 'malformed Basic', malformedBasic(good))
  t.same(subject.service.asked, [], 'no user was looked up')
  await welcomes(subject, t)
})

t.test('a Basic header with a wrong name or password is rejected', async (t) => {
  const subject = await subjectOf(t)
  await areRejected(t, subject, 'wrong Basic', namelessBasic(good))
  t.same(subject.service.asked, [], 'no user was looked up for an unusable name')
  const wrong = [...wrongPairs(good), [good.username, hash] as const]
  const headers = wrong.map((pair) => basic(...pair).authorization)
  await areRejected(t, subject, 'wrong Basic', headers)
  const expected = new Set(wrong.map(([name]) => name))
  t.same(new Set(subject.service.asked.splice(0)), expected, 'the names as they were sent')
  await welcomes(subject, t)
})

t.test('a Bearer header without a valid token is rejected', async (t) => {
  const subject = await subjectOf(t)
  const headers = badBearer({ pair: good, token: subject.app.jwtService.generateToken('alice') })
  await areRejected(t, subject, 'bad Bearer', headers, ['jwt', 'both'])
  t.same(subject.service.asked, [], 'no user was looked up')
  await welcomes(subject, t)
  const { basic, config } = uses
  const options = { authenticator: 'basic', basic: configured } as const
  const withoutJwt = await target(t, subject.service, options, { basic, config })
  await areRejected(t, withoutJwt, 'bad Bearer', headers, ['basic', 'config'])
  t.same(subject.service.asked, [], 'no user was looked up')
})

t.test('a header of an unknown scheme counts as no credentials', async (t) => {
  const subject = await subjectOf(t)
  const token = subject.app.jwtService.generateToken('alice')
  await areRejected(t, subject, 'other', otherSchemes({ pair: good, token }))
  t.same(subject.service.asked, [], 'no user was looked up')
  await welcomes(subject, t)
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
