import * as fc from 'fast-check'
import t, { type Test } from 'tap'
import {
  badBearer,
  malformedBasic,
  namelessBasic,
  otherSchemes,
  wrongBasic,
  wrongPairs,
} from './corpus/headers.js'
import { basic, bearer, passwords, secret, users } from '../helpers/app.js'
import {
  assertRepelled,
  credulousService,
  isQuiet,
  isRepelled,
  target,
  type Expected,
  type Target,
} from '../helpers/attacks.js'
import { anyCharacter, bounded } from '../helpers/cases.js'
import {
  basicChallenge,
  bearerChallenge,
  isWelcome,
  texts,
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

/** What a header is, and so what each authenticator has to say of it. */
type Kind = 'malformed Basic' | 'wrong Basic' | 'bad Bearer' | 'other'

const bearerProblem = tokenChallenge('The token is invalid')
const refused = (error: string, challenge: Expected['challenge']): Expected => ({
  kind: 'wrong',
  error,
  challenge,
})
const absent = (challenge: Expected['challenge']): Expected => ({
  kind: 'none',
  error: texts.none,
  challenge,
})

const expectations: Record<Kind, Record<Use, Expected>> = {
  'malformed Basic': {
    basic: refused(texts.none, basicChallenge),
    config: refused(texts.none, basicChallenge),
    jwt: absent(bearerChallenge),
    both: refused(texts.none, [basicChallenge, bearerChallenge]),
  },
  'wrong Basic': {
    basic: refused(texts.invalid, basicChallenge),
    config: refused(texts.invalid, basicChallenge),
    jwt: absent(bearerChallenge),
    both: refused(texts.invalid, [basicChallenge, bearerChallenge]),
  },
  'bad Bearer': {
    basic: absent(basicChallenge),
    config: absent(basicChallenge),
    jwt: refused(texts.jwtInvalid, bearerProblem),
    both: refused(texts.jwtInvalid, [basicChallenge, bearerProblem]),
  },
  other: {
    basic: absent(basicChallenge),
    config: absent(basicChallenge),
    jwt: absent(bearerChallenge),
    both: absent([basicChallenge, bearerChallenge]),
  },
}

const secrets = [passwords.alice, hash, secret, basic('alice', passwords.alice).authorization]

/** Every header, against every authenticator, under every mark. */
async function repelled(
  t: Test,
  subject: Target,
  kind: Kind,
  headers: readonly string[],
): Promise<void> {
  t.equal(new Set(headers).size, headers.length, `${headers.length} headers, each another one`)
  for (const header of headers) {
    const title = header.length > 60 ? `${header.slice(0, 60)}… (${header.length})` : header
    for (const use of allUses) {
      await isRepelled(t, subject, use, header, expectations[kind][use], JSON.stringify(title))
    }
  }
  // The reason in the log says that a client has sent one of these words for its token.
  const isWord = (header: string): boolean =>
    /^Bearer (?:undefined|null|\[object Object\])$/.test(header)
  const sent = headers.filter((header) => header.length > 12 && !isWord(header))
  isQuiet(t, subject, [...secrets, ...sent])
}

/** What is refused beside it is refused for its own fault. */
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

t.test('malformed Basic', async (t) => {
  const subject = await subjectOf(t)
  const headers = malformedBasic(good)
  await repelled(t, subject, 'malformed Basic', headers)
  t.same(subject.service.asked, [], 'no user was looked up')
  await welcomes(subject, t)
})

t.test('Basic, well formed and wrong', async (t) => {
  const subject = await subjectOf(t)
  await repelled(t, subject, 'wrong Basic', namelessBasic(good))
  t.same(subject.service.asked, [], 'no user was looked up for a name that is none')
  const asked = [...wrongPairs(good), [good.username, hash] as const]
  const headers = [...wrongBasic(good), basic(good.username, hash).authorization]
  await repelled(t, subject, 'wrong Basic', headers)
  const expected = new Set(asked.map(([name]) => name))
  t.same(new Set(subject.service.asked.splice(0)), expected, 'the names as they were sent')
  await welcomes(subject, t)
})

t.test('bad Bearer', async (t) => {
  const subject = await subjectOf(t)
  const token = subject.app.jwtService.generateToken('alice')
  const headers = badBearer({ pair: good, token })
  await repelled(t, subject, 'bad Bearer', headers)
  t.same(subject.service.asked, [], 'no user was looked up')
  await welcomes(subject, t)
})

t.test('no scheme of ours: no credentials', async (t) => {
  const subject = await subjectOf(t)
  const token = subject.app.jwtService.generateToken('alice')
  const headers = otherSchemes({ pair: good, token })
  await repelled(t, subject, 'other', headers)
  t.same(subject.service.asked, [], 'no user was looked up')
  await welcomes(subject, t)
})

const scheme = fc.constantFrom(
  'Basic',
  'Bearer',
  'basic',
  'BEARER',
  'bAsIc',
  'Digest',
  'Basic:',
  '',
)
const gap = fc.constantFrom(' ', '  ', '', '\t', ', ', '\u00a0')

t.test('generated: any text after any scheme', async (t) => {
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
        await assertRepelled(subject, use, parts.join(''))
      },
    ),
    bounded(250),
  )
  isQuiet(t, subject, secrets)
})
