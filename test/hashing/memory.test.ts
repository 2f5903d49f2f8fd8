import { createHash } from 'node:crypto'
import bcrypt from 'bcrypt'
import t from 'tap'
import { ABANDONED } from '../../lib/client.js'
import { CredentialMemory, digestBy, keyedDigest } from '../../lib/hashing/memory.js'
import { fakeRequest, fateOf, movableClock, settle } from '../helpers/load.js'
import { privateState } from '../helpers/private-state.js'

const stored = bcrypt.hashSync('swordfish', 4)
const other = bcrypt.hashSync('swordfish', 4)
const { request } = fakeRequest()

/** A comparison that the test ends, and how often it was begun. */
function comparison(): {
  compare: () => Promise<boolean>
  ends: { resolve: (matches: boolean) => void; reject: (error: unknown) => void }[]
} {
  const ends: { resolve: (matches: boolean) => void; reject: (error: unknown) => void }[] = []
  return {
    ends,
    compare: () => new Promise((resolve, reject) => ends.push({ resolve, reject })),
  }
}

const memoryOf = (max = 10, ttl = 60): CredentialMemory => new CredentialMemory({ max, ttl })
const yes = async (): Promise<boolean> => true
const no = async (): Promise<boolean> => false
const never = async (): Promise<boolean> => {
  throw new Error('compared again')
}

t.test('what has matched is not compared again', async (t) => {
  const memory = memoryOf()
  const first = memory.matches('swordfish', stored, request, yes)
  t.not(first, true, 'the first one has to wait')
  t.equal(await first, true)
  t.equal(memory.matches('swordfish', stored, request, never), true, 'and the second has not')
  t.strictSame(memory.stats, { hits: 1, misses: 1, size: 1 })
})

t.test('another password or another hash is something else', async (t) => {
  const memory = memoryOf()
  await memory.matches('swordfish', stored, request, yes)
  for (const [password, hash] of [
    ['Swordfish', stored],
    ['swordfish ', stored],
    ['', stored],
    ['swordfish', other],
    ['swordfish', stored.replace('$2b$', '$2y$')],
  ] as const) {
    t.equal(await memory.matches(password, hash, request, no), false)
  }
})

t.test('what is stored is no part of the password', async (t) => {
  const memory = memoryOf()
  await memory.matches('swordfish', stored, request, yes)
  t.equal(memory.knows('swordfish', stored), true)
  for (const length of [0, 1, 30, 59, 61]) {
    const both = `${stored}swordfish`
    t.equal(memory.knows(both.slice(length), both.slice(0, length)), false, `${length} letters`)
  }
  t.equal(memory.knows('wrong', stored), false)
  t.strictSame(memory.stats, { hits: 1, misses: 1, size: 1 })
})

t.test('its keys are digests under a key', async (t) => {
  const sha256 = (text: string): string => createHash('sha256').update(text).digest('base64')
  const key = 'k'.repeat(64)
  t.equal(keyedDigest(key)('text'), sha256(`${key}text`))
  t.equal(digestBy(undefined)('sha256', 'text', 'base64'), sha256('text'), 'before Node.js 20.12')
})

t.test('a failure is never remembered', async (t) => {
  const memory = memoryOf()
  t.equal(await memory.matches('wrong', stored, request, no), false)
  t.strictSame(memory.stats, { hits: 0, misses: 1, size: 0 })
  t.equal(await memory.matches('wrong', stored, request, yes), true, 'it is compared again')
})

t.test('a fault is never remembered, and is of all that shared the run', async (t) => {
  const memory = memoryOf()
  const { compare, ends } = comparison()
  const fates = [1, 2, 3].map(() =>
    fateOf(memory.matches('swordfish', stored, request, compare) as Promise<boolean>),
  )
  t.equal(ends.length, 1)
  const fault = new Error('no memory')
  ends[0]?.reject(fault)
  await settle()
  t.strictSame(
    fates.map(({ state, value }) => [state, value]),
    fates.map(() => ['rejected', fault]),
  )
  t.equal(memory.stats.size, 0)
  t.equal(await memory.matches('swordfish', stored, request, yes), true)
})

t.test('those that ask the same at once share one run, and get its answer', async (t) => {
  for (const matches of [true, false]) {
    const memory = memoryOf()
    const { compare, ends } = comparison()
    const answers = Array.from({ length: 64 }, () =>
      memory.matches('swordfish', stored, request, compare),
    )
    const apart = memory.matches('wrong', stored, request, compare)
    await settle()
    t.equal(ends.length, 2, 'another password has its own')
    ends[0]?.resolve(matches)
    for (const answer of answers) t.equal(await answer, matches)
    ends[1]?.resolve(false)
    t.equal(await apart, false)
    t.equal(memory.stats.size, matches ? 1 : 0)
    void memory.matches('swordfish', stored, request, compare)
    t.equal(ends.length, matches ? 2 : 3, 'the run is not shared after its end')
  }
})

t.test('when the one that it runs for leaves, the next one runs it', async (t) => {
  const memory = memoryOf()
  const [leader, follower, last] = [fakeRequest(), fakeRequest(), fakeRequest()]
  const { compare, ends } = comparison()
  const fates = [leader, follower, last].map((each) =>
    fateOf(memory.matches('swordfish', stored, each.request, compare) as Promise<boolean>),
  )
  const states = (): string[] => fates.map(({ state }) => state)
  leader.leave()
  ends[0]?.reject(ABANDONED)
  await settle()
  t.equal(ends.length, 2, 'one new run for both')
  t.strictSame(states(), ['rejected', 'pending', 'pending'])
  t.equal(fates[0]?.value, ABANDONED)
  follower.leave()
  ends[1]?.reject(ABANDONED)
  await settle()
  t.equal(ends.length, 3)
  t.strictSame(states(), ['rejected', 'rejected', 'pending'])
  ends[2]?.resolve(true)
  await settle()
  t.match(fates[2], { state: 'resolved', value: true })
  t.equal(memory.stats.size, 1)
})

t.test('one that has left itself does not begin another run', async (t) => {
  const memory = memoryOf()
  const [leader, follower] = [fakeRequest(), fakeRequest()]
  const { compare, ends } = comparison()
  const fates = [leader, follower].map((each) =>
    fateOf(memory.matches('swordfish', stored, each.request, compare) as Promise<boolean>),
  )
  leader.leave()
  follower.leave()
  ends[0]?.reject(ABANDONED)
  await settle()
  t.equal(ends.length, 1)
  t.strictSame(
    fates.map(({ value }) => value),
    [ABANDONED, ABANDONED],
  )
})

t.test('they are forgotten after their time, counted from the run', async (t) => {
  const clock = movableClock(t)
  const memory = memoryOf(10, 60)
  await memory.matches('swordfish', stored, request, yes)
  await clock.advance(59_000)
  t.equal(memory.matches('swordfish', stored, request, never), true)
  await clock.advance(2000)
  const answer = memory.matches('swordfish', stored, request, no)
  t.not(answer, true, 'a use does not make it last longer')
  t.equal(await answer, false)
  t.equal(memory.stats.size, 0)
})

t.test('there are no more than the option says, and the least used goes first', async (t) => {
  const memory = memoryOf(2)
  await memory.matches('one', stored, request, yes)
  await memory.matches('two', stored, request, yes)
  t.equal(memory.matches('one', stored, request, never), true)
  await memory.matches('three', stored, request, yes)
  t.equal(memory.stats.size, 2)
  t.equal(memory.matches('one', stored, request, never), true)
  t.equal(memory.matches('three', stored, request, never), true)
  t.equal(await memory.matches('two', stored, request, no), false, 'it was forgotten')
})

t.test('nothing in it is a password or a hash', async (t) => {
  const secret = 'correct horse battery staple'
  const hash = bcrypt.hashSync(secret, 4)
  const memory = memoryOf()
  const { compare } = comparison()
  await memory.matches(secret, hash, request, yes)
  await memory.matches(`${secret}!`, hash, request, no)
  void memory.matches(`${secret} in flight`, hash, request, compare)
  const texts = privateState(memory)
  t.ok(texts.length > 20, 'all of it was looked at')
  t.ok(
    texts.some((text) => /^[A-Za-z0-9+/]{43}=$/.test(text)),
    'its keys, too',
  )
  const parts = [secret, hash, hash.slice(7, 29), hash.slice(29), 'horse']
  const encoded = parts.flatMap((part) =>
    (['utf8', 'base64', 'hex', 'base64url'] as const).map((as) => Buffer.from(part).toString(as)),
  )
  for (const part of encoded) {
    t.notOk(
      texts.some((text) => text.includes(part)),
      'not even encoded',
    )
  }
  t.ok(
    privateState({ deep: [new Map([[{}, Buffer.from(secret)]])] }).some((text) =>
      text.includes(secret),
    ),
    'where it is, it would be found',
  )
})

t.test('its keys are of no use to another process', async (t) => {
  const keysOf = async (): Promise<string[]> => {
    const memory = memoryOf()
    await memory.matches('swordfish', stored, request, yes)
    return privateState(memory).filter((text) => /^[A-Za-z0-9+/]{43}=$/.test(text))
  }
  const [first, second] = await Promise.all([keysOf(), keysOf()])
  t.ok(first.length > 0)
  for (const key of first) t.notOk(second.includes(key))
})
