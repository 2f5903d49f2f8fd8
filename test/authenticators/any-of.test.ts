// Also holds lib/authenticators/facts.ts.
import type { FastifyReply, FastifyRequest } from 'fastify'
import t from 'tap'
import { anyOf } from '../../lib/authenticators/any-of.js'
import { AuthenticationError, AuthenticationFault } from '../../lib/errors.js'
import { membersOf } from '../../lib/authenticators/facts.js'
import { rejectionOf, thrownBy } from '../helpers/errors.js'
import { requestWith, serverWith } from '../helpers/fakes.js'
import type { Authenticator } from '../../types/authenticator.js'
import type { AuthenticationErrorLike } from '../../types/errors.js'

/** How a member answers. `missing` is the refusal of a request without credentials. */
type Outcome = 'user' | 'null' | 'missing' | 'refusal' | 'fault'
const outcomes: readonly Outcome[] = ['user', 'null', 'missing', 'refusal', 'fault']

/** What comes out when both members are asked: rows are the first one's outcome, columns the second one's. */
const bothAsked: Record<Outcome, Record<Outcome, string>> = {
  user: { user: 'user 0', null: 'user 0', missing: 'user 0', refusal: 'user 0', fault: 'user 0' },
  null: {
    user: 'user 1',
    null: 'null',
    missing: 'missing 1',
    refusal: 'refusal 1',
    fault: 'fault 1',
  },
  missing: {
    user: 'user 1',
    null: 'missing 0',
    missing: 'missing 0',
    refusal: 'refusal 1',
    fault: 'fault 1',
  },
  refusal: {
    user: 'user 1',
    null: 'refusal 0',
    missing: 'refusal 0',
    refusal: 'refusal 0',
    fault: 'fault 1',
  },
  fault: {
    user: 'fault 0',
    null: 'fault 0',
    missing: 'fault 0',
    refusal: 'fault 0',
    fault: 'fault 0',
  },
}

/** After these of the first member, the second one is not asked. */
const endsIt: ReadonlySet<Outcome> = new Set<Outcome>(['user', 'fault'])

/** Which members a request is shown to, by their schemes and the request's header. */
const asked: [schemes: [string | undefined, string | undefined], Record<string, number[]>][] = [
  [['Basic', 'basic'], { none: [], 'Basic x': [0, 1], 'BEARER x': [], 'Other x': [] }],
  [['Basic', 'Bearer'], { none: [], 'Basic x': [0], 'BEARER x': [1], 'Other x': [] }],
  [
    [undefined, undefined],
    { none: [0, 1], 'Basic x': [0, 1], 'BEARER x': [0, 1], 'Other x': [0, 1] },
  ],
  [['Basic', undefined], { none: [1], 'Basic x': [0], 'BEARER x': [1], 'Other x': [1] }],
  [[undefined, 'Basic'], { none: [0], 'Basic x': [1], 'BEARER x': [0], 'Other x': [0] }],
]

/** A member that answers, at once or later, and says that it was asked. */
function member(
  id: number,
  outcome: Outcome,
  later: boolean,
  log: string[],
  scheme?: string,
): Authenticator {
  const answer = (): object | null => {
    log.push(`asked ${id}`)
    if (outcome === 'user') return { name: `user ${id}` }
    if (outcome === 'null') return null
    if (outcome === 'fault') throw new Error(`fault ${id}`)
    const key = outcome === 'missing' ? 'auth.no-credentials-provided' : 'auth.invalid-credentials'
    throw new AuthenticationError(key, { cause: `${outcome} ${id}` })
  }
  return {
    ...(scheme !== undefined && { scheme }),
    authenticate: later ? async () => answer() : answer,
    onUnauthorized: () => void log.push(`refusal written by ${id}`),
  }
}

/** What comes out of an authenticator, in words. */
async function resultOf(authenticator: Authenticator, request: FastifyRequest): Promise<string> {
  try {
    const user = (await authenticator.authenticate(request)) as { name: string } | null
    return user === null ? 'null' : user.name
  } catch (error) {
    const { cause, message } = error as Error
    return typeof cause === 'string' ? cause : message
  }
}

for (const [[first, second], byHeader] of asked) {
  t.test(`schemes ${first ?? 'none'} and ${second ?? 'none'}`, async (t) => {
    for (const [header, ids] of Object.entries(byHeader)) {
      const request = requestWith(header === 'none' ? {} : { authorization: header })
      const found: Record<string, unknown> = {}
      const expected: Record<string, unknown> = {}
      for (const one of outcomes) {
        for (const other of outcomes) {
          for (const later of [false, true]) {
            const log: string[] = []
            const combined = anyOf(
              member(0, one, later, log, first),
              member(1, other, later, log, second),
            )
            const title = `${one}, ${other}, ${later ? 'later' : 'at once'}`
            found[title] = [await resultOf(combined, request), ...log]

            const [only] = ids
            const alone = [one, other][only ?? 0] as Outcome
            const result =
              only === undefined
                ? 'null'
                : ids.length === 2
                  ? bothAsked[one][other]
                  : alone === 'null'
                    ? 'null'
                    : `${alone} ${only}`
            const reached = ids.length === 2 && endsIt.has(one) ? [0] : ids
            expected[title] = [result, ...reached.map((id) => `asked ${id}`)]
          }
        }
      }
      t.equal(Object.keys(found).length, 50)
      t.strictSame(found, expected, `header: ${header}`)
    }
  })
}

t.test('three of one scheme: the first refusal that is one', async (t) => {
  const log: string[] = []
  const combined = anyOf(
    member(0, 'missing', true, log),
    member(1, 'refusal', true, log),
    member(2, 'refusal', true, log),
  )
  t.equal(await resultOf(combined, requestWith({})), 'refusal 1')
  t.strictSame(log, ['asked 0', 'asked 1', 'asked 2'])
})

t.test('the scheme of the header picks, whatever follows it', async (t) => {
  const log: string[] = []
  const combined = anyOf(
    member(0, 'null', false, log, 'Basic'),
    member(1, 'null', false, log, 'Bearer'),
    member(2, 'null', false, log),
  )
  const cases: [string, string][] = [
    ['Bearer', 'asked 1'],
    ['bearer ', 'asked 1'],
    ['Bearer\tx', 'asked 1'],
    ['Basic', 'asked 0'],
    ['Basics x', 'asked 2'],
    ['', 'asked 2'],
  ]
  for (const [authorization, expected] of cases) {
    t.equal(await resultOf(combined, requestWith({ authorization })), 'null')
    t.strictSame(log.splice(0), [expected], JSON.stringify(authorization))
  }
})

t.test('what is neither a user nor null is passed on, for the guard to refuse', async (t) => {
  for (const strange of [undefined, false, '', 'alice', 0, []]) {
    const combined = anyOf(
      { authenticate: () => strange as unknown as null },
      { authenticate: () => ({ name: 'never asked' }) },
    )
    t.equal(await combined.authenticate(requestWith({})), strange, String(strange))
  }
})

t.test('the fault is passed on as it is', async (t) => {
  for (const fault of [new AuthenticationFault('ERR_AUTH_USER_SERVICE', 1), 'a text', undefined]) {
    const combined = anyOf({
      authenticate() {
        throw fault
      },
    })
    let thrown: unknown = 'nothing'
    try {
      await combined.authenticate(requestWith({}))
    } catch (error) {
      thrown = error
    }
    t.equal(thrown, fault)
  }
})

t.test('a refusal is recognised by its code', async (t) => {
  const foreign = Object.assign(new Error('another copy'), { code: 'ERR_AUTH_REFUSED' })
  const combined = anyOf(
    {
      authenticate() {
        throw foreign
      },
    },
    { authenticate: () => ({ name: 'second' }) },
  )
  t.equal(await resultOf(combined, requestWith({})), 'second')
})

t.test('optional only when all members are', async (t) => {
  const of = (optional?: boolean): Authenticator => ({
    authenticate: () => null,
    ...(optional !== undefined && { optional }),
  })
  const cases: [boolean | undefined, boolean | undefined, boolean][] = [
    [true, true, true],
    [true, false, false],
    [false, true, false],
    [true, undefined, false],
    [undefined, undefined, false],
  ]
  for (const [first, second, expected] of cases) {
    t.equal(anyOf(of(first), of(second)).optional, expected, `${first}, ${second}`)
  }
})

t.test('init: of every member, in order, through the registration', async (t) => {
  const log: unknown[] = []
  const members = [0, 1, 2].map((id) => member(id, 'null', false, []))
  const app = serverWith({
    async initialize(authenticator) {
      log.push(['start', authenticator])
      await new Promise(setImmediate)
      log.push(['end', authenticator])
    },
  })
  await anyOf(...members).init?.(app)
  t.strictSame(
    log,
    members.flatMap((each) => [
      ['start', each],
      ['end', each],
    ]),
  )
  const failing = serverWith({ initialize: () => Promise.reject(new Error('no key')) })
  const { message } = await rejectionOf(anyOf(...members).init?.(failing))
  t.equal(message, 'no key')
})

t.test('the members are told to those that make the challenges', async (t) => {
  const members = [member(0, 'null', false, [], 'Basic'), member(1, 'null', false, [], 'Bearer')]
  const combined = anyOf(...members)
  t.strictSame(membersOf(combined), members)
  t.equal(combined.scheme, undefined, 'no scheme of its own')
})

/** The refusal of a request, written. */
async function refuse(combined: Authenticator, request: FastifyRequest): Promise<unknown> {
  let refusal: unknown
  try {
    await combined.authenticate(request)
  } catch (error) {
    refusal = error
  }
  const error = refusal as AuthenticationErrorLike
  return combined.onUnauthorized?.(error, request, {} as FastifyReply)
}

t.test('onUnauthorized: of the member whose refusal counts', async (t) => {
  const cases: [Outcome, Outcome, string][] = [
    ['refusal', 'refusal', 'refusal written by 0'],
    ['refusal', 'null', 'refusal written by 0'],
    ['refusal', 'missing', 'refusal written by 0'],
    ['missing', 'refusal', 'refusal written by 1'],
    ['null', 'refusal', 'refusal written by 1'],
    ['null', 'missing', 'refusal written by 1'],
    ['missing', 'missing', 'refusal written by 0'],
  ]
  for (const [one, other, expected] of cases) {
    const log: string[] = []
    const combined = anyOf(member(0, one, true, log), member(1, other, true, log))
    await refuse(combined, requestWith({}))
    t.equal(log.at(-1), expected, `${one}, ${other}`)
  }
})

t.test('onUnauthorized: what it gets, and what it returns', async (t) => {
  const seen: unknown[] = []
  const refusal = new AuthenticationError('no')
  const combined = anyOf({
    authenticate() {
      throw refusal
    },
    onUnauthorized(...args) {
      seen.push(...args)
      return Promise.resolve('sent')
    },
  })
  const request = requestWith({})
  const reply = {} as FastifyReply
  await rejectionOf(combined.authenticate(request))
  t.equal(await combined.onUnauthorized?.(refusal, request, reply), 'sent')
  t.ok(seen[0] === refusal && seen[1] === request && seen[2] === reply)
})

t.test('onUnauthorized: nobody refused, so the first member writes', async (t) => {
  const log: string[] = []
  const combined = anyOf(member(0, 'null', true, log), member(1, 'null', true, log))
  const error = new AuthenticationError('auth.no-credentials-provided')
  combined.onUnauthorized?.(error, requestWith({}), {} as FastifyReply)
  t.strictSame(log, ['refusal written by 0'])
})

t.test('onUnauthorized: a member that has none leaves it to the plugin', async (t) => {
  const log: string[] = []
  const silent: Authenticator = {
    authenticate() {
      throw new AuthenticationError('no')
    },
  }
  const combined = anyOf(silent, member(1, 'null', true, log))
  t.equal(await refuse(combined, requestWith({})), undefined)
  t.strictSame(log, ['asked 1'], 'and to no other member')
})

t.test('one error object that two members throw', async (t) => {
  const shared = new AuthenticationError('auth.invalid-credentials')
  const log: string[] = []
  const throwing = (id: number, scheme?: string): Authenticator => ({
    ...(scheme !== undefined && { scheme }),
    authenticate() {
      throw shared
    },
    onUnauthorized: () => void log.push(`refusal written by ${id}`),
  })
  await refuse(anyOf(throwing(0), throwing(1)), requestWith({}))
  t.strictSame(log.splice(0), ['refusal written by 0'], 'in one request')

  const combined = anyOf(throwing(0, 'Basic'), throwing(1, 'Bearer'))
  const requests = ['Basic x', 'Bearer x'].map((authorization) => requestWith({ authorization }))
  for (const request of requests) await rejectionOf(combined.authenticate(request))
  for (const request of requests) combined.onUnauthorized?.(shared, request, {} as FastifyReply)
  t.strictSame(log, ['refusal written by 0', 'refusal written by 1'], 'in two at once')
})

t.test('misuse', async (t) => {
  const nobody = thrownBy(() => anyOf())
  t.equal(nobody.code, 'ERR_AUTH_OPTION')
  t.equal(nobody.message, 'fastify-authn: anyOf(): expected one authenticator or more.')
  const good: Authenticator = { authenticate: () => null }
  const wrong: [unknown, string][] = [
    [null, '"anyOf()[1]": found null, expected an authenticator'],
    ['jwt', '"anyOf()[1]": found a string that does not fit, expected an authenticator'],
    [{}, '"anyOf()[1].authenticate": found nothing'],
    [{ ...good, scheme: 'two words' }, '"anyOf()[1].scheme": found "two words"'],
  ]
  for (const [other, text] of wrong) {
    const { code, message } = thrownBy(() => anyOf(good, other as Authenticator))
    t.equal(code, 'ERR_AUTH_OPTION')
    t.match(message, text)
  }
})
