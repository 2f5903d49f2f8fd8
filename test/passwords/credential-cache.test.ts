import bcrypt from 'bcrypt'
import t from 'tap'
import { ABANDONED } from '../../lib/http/disconnect.js'
import { CredentialMemory, type Asked } from '../../lib/passwords/remembered.js'
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
/** Of one name, when the test is about something else. */
const asked = (password: string, username = 'alice'): Asked => ({ username, password, request })
const yes = async (): Promise<boolean> => true
const no = async (): Promise<boolean> => false

t.test('what has matched is not compared again', async (t) => {
  const memory = memoryOf()
  t.equal(memory.knows('alice', 'swordfish', stored), false)
  t.equal(await memory.share(asked('swordfish'), stored, yes), true)
  t.equal(memory.knows('alice', 'swordfish', stored), true)
  t.strictSame(memory.stats, { hits: 1, misses: 1, size: 1 })
})

t.test('another password or another hash is something else', async (t) => {
  const memory = memoryOf()
  await memory.share(asked('swordfish'), stored, yes)
  for (const [password, hash] of [
    ['Swordfish', stored],
    ['swordfish ', stored],
    ['', stored],
    ['swordfish', other],
    ['swordfish', stored.replace('$2b$', '$2y$')],
  ] as const) {
    t.equal(await memory.share(asked(password), hash, no), false)
  }
})

t.test('what is stored is no part of the password', async (t) => {
  const memory = memoryOf()
  await memory.share(asked('swordfish'), stored, yes)
  t.equal(memory.knows('alice', 'swordfish', stored), true)
  for (const length of [0, 1, 30, 59, 61]) {
    const both = `${stored}swordfish`
    t.equal(
      memory.knows('alice', both.slice(length), both.slice(0, length)),
      false,
      `${length} letters`,
    )
  }
  t.equal(memory.knows('alice', 'wrong', stored), false)
  t.strictSame(memory.stats, { hits: 1, misses: 1, size: 1 })
})

t.test('a failure is never remembered', async (t) => {
  const memory = memoryOf()
  t.equal(await memory.share(asked('wrong'), stored, no), false)
  t.strictSame(memory.stats, { hits: 0, misses: 1, size: 0 })
  t.equal(await memory.share(asked('wrong'), stored, yes), true, 'it is compared again')
})

t.test('a fault is never remembered, and is of all that shared the run', async (t) => {
  const memory = memoryOf()
  const { compare, ends } = comparison()
  const fates = [1, 2, 3].map(() => fateOf(memory.share(asked('swordfish'), stored, compare)))
  t.equal(ends.length, 1)
  const fault = new Error('no memory')
  ends[0]?.reject(fault)
  await settle()
  t.strictSame(
    fates.map(({ state, value }) => [state, value]),
    fates.map(() => ['rejected', fault]),
  )
  t.equal(memory.stats.size, 0)
  t.equal(await memory.share(asked('swordfish'), stored, yes), true)
})

t.test('those that ask the same at once share one run, and get its answer', async (t) => {
  for (const matches of [true, false]) {
    const memory = memoryOf()
    const { compare, ends } = comparison()
    const answers = Array.from({ length: 64 }, () =>
      memory.share(asked('swordfish'), stored, compare),
    )
    const apart = memory.share(asked('wrong'), stored, compare)
    await settle()
    t.equal(ends.length, 2, 'another password has its own')
    ends[0]?.resolve(matches)
    for (const answer of answers) t.equal(await answer, matches)
    ends[1]?.resolve(false)
    t.equal(await apart, false)
    t.equal(memory.stats.size, matches ? 1 : 0)
    void memory.share(asked('swordfish'), stored, compare)
    t.equal(ends.length, 3, 'the run is not shared after its end')
  }
})

t.test('another spelling of the username has a run of its own', async (t) => {
  const memory = memoryOf()
  const { compare, ends } = comparison()
  const ask = (name: string): Promise<boolean> =>
    memory.share(asked('swordfish', name), stored, compare)
  const fates = ['alice', 'Alice', 'alice', 'ALICE'].map((name) => fateOf(ask(name)))
  t.equal(ends.length, 3)
  for (const { resolve } of ends) resolve(true)
  await settle()
  for (const { value } of fates) t.equal(value, true)
  t.equal(memory.knows('Alice', 'swordfish', stored), true)
  t.equal(memory.knows('aLICE', 'swordfish', stored), false)
  t.equal(memory.knows('Alic', 'eswordfish', stored), false, 'where the name ends is part of it')
  t.equal(memory.knows('Alices', 'wordfish', stored), false)
})

t.test('when the one that it runs for leaves, the next one runs it', async (t) => {
  const memory = memoryOf()
  const [leader, follower, last] = [fakeRequest(), fakeRequest(), fakeRequest()]
  const { compare, ends } = comparison()
  const fates = [leader, follower, last].map((each) =>
    fateOf(memory.share({ ...asked('swordfish'), ...each }, stored, compare)),
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
    fateOf(memory.share({ ...asked('swordfish'), ...each }, stored, compare)),
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
  const knows = (password: string): boolean => memory.knows('alice', password, stored)
  await memory.share(asked('swordfish'), stored, yes)
  await clock.advance(59_000)
  t.equal(knows('swordfish'), true)
  await clock.advance(2000)
  t.equal(knows('swordfish'), false, 'a use does not make it last longer')
})

t.test('there are no more than the option says, and the least used goes first', async (t) => {
  const memory = memoryOf(2)
  const knows = (password: string): boolean => memory.knows('alice', password, stored)
  await memory.share(asked('one'), stored, yes)
  await memory.share(asked('two'), stored, yes)
  t.equal(knows('one'), true)
  await memory.share(asked('three'), stored, yes)
  t.equal(memory.stats.size, 2)
  t.equal(knows('one'), true)
  t.equal(knows('three'), true)
  t.equal(knows('two'), false, 'it was forgotten')
})

t.test('nothing in it is a password or a hash', async (t) => {
  const secret = 'correct horse battery staple'
  const hash = bcrypt.hashSync(secret, 4)
  const memory = memoryOf()
  const { compare } = comparison()
  await memory.share(asked(secret), hash, yes)
  await memory.share(asked(`${secret}!`), hash, no)
  void memory.share(asked(`${secret} in flight`), hash, compare)
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
    await memory.share(asked('swordfish'), stored, yes)
    return privateState(memory).filter((text) => /^[A-Za-z0-9+/]{43}=$/.test(text))
  }
  const [first, second] = await Promise.all([keysOf(), keysOf()])
  t.ok(first.length > 0)
  for (const key of first) t.notOk(second.includes(key))
})
