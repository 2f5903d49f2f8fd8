import t, { type Test } from 'tap'
import {
  revokeKey,
  rotateKeySet,
  type Changed,
  type SetKey,
} from '../../../lib/cli/key-set/rotation.js'
import { rejectionOf } from '../../helpers/errors.js'
import type { KeyFileEntry } from '../../../types/keys.js'
import type { SigningMethod } from '../../../types/jwt.js'

const now = Date.parse('2027-01-01T12:00:00.600Z')
/** A test at this time. */
const test = (name: string, run: (t: Test) => Promise<void>): void =>
  void t.test(name, async (t) => {
    t.intercept(Date, 'now', { value: () => now })
    await run(t)
  })
const at = (seconds: number): string =>
  new Date(Date.parse('2027-01-01T12:00:00Z') + seconds * 1000).toISOString().replace('.000Z', 'Z')

/** A key; its name is its `kid`. */
function key(kid: string, state: KeyFileEntry['state'], more: Partial<KeyFileEntry> = {}): SetKey {
  return { kid, entry: { alg: 'ES256', state, private: `PEM of ${kid}`, ...more } }
}

/** Makes keys that are called `made 1` and so on, and tells what they are like. */
function maker() {
  const asked: [alg: SigningMethod, like: string][] = []
  const make = async (alg: SigningMethod, like: SetKey): Promise<SetKey> => {
    asked.push([alg, like.kid])
    return key(`made ${asked.length}`, 'next', { alg })
  }
  return { asked, make }
}

/** The keys of a key set in short. */
const short = ({ keys }: Changed): string[] =>
  keys.map(({ kid, entry: { alg, state, since, until } }) =>
    [kid, alg, state, since ?? '-', until ?? '-'].join(' '),
  )

const asked = { alg: undefined, life: 300, lag: 120, settle: 600 }
const names = (keys: readonly (SetKey | undefined)[]) => keys.map((one) => one?.kid)

test('rotate: next becomes sign, sign verifies for lag + life + 300 seconds, a new key is next', async (t) => {
  const { asked: made, make } = maker()
  const keySet = [
    key('expired', 'verify', { until: at(0) }),
    key('ending', 'verify', { until: at(1) }),
    key('for ever', 'verify'),
    key('old', 'sign', { since: at(-600), legacy: true, passphraseEnv: 'PHRASE' }),
    key('heir', 'next'),
  ]
  const changed = await rotateKeySet(keySet, asked, make)
  t.strictSame(short(changed), [
    `ending ES256 verify - ${at(1)}`,
    'for ever ES256 verify - -',
    `old ES256 verify ${at(0)} ${at(721)}`,
    `heir ES256 sign ${at(0)} -`,
    'made 1 ES256 next - -',
  ])
  t.strictSame(made, [['ES256', 'heir']])
  t.strictSame(names([changed.signs, changed.verifies, changed.made, ...changed.removed]), [
    'heir',
    'old',
    'made 1',
    'expired',
  ])
  t.match(changed.verifies?.entry, { legacy: true, passphraseEnv: 'PHRASE', private: 'PEM of old' })
})

test('rotate fails until the sign and the next key are older than --settle', async (t) => {
  const { asked: made, make } = maker()
  const keySet = (since: string | undefined, next?: string) => [
    key('a', 'sign', since === undefined ? {} : { since }),
    key('b', 'next', next === undefined ? {} : { since: next }),
  ]
  const early = await rejectionOf(rotateKeySet(keySet(at(-100)), asked, make))
  t.match(early, { message: /the sign key .*--settle.* wait 500 seconds/, error: { exit: 1 } })
  t.match(await rejectionOf(rotateKeySet(keySet(at(60)), asked, make)), {
    message: /wait 660 seconds/,
  })
  t.match(await rejectionOf(rotateKeySet(keySet(at(-900), at(-100)), asked, make)), {
    message: /the next key .* wait 500 seconds/,
  })
  t.strictSame(made, [])
  for (const since of [at(-600), at(-900), undefined]) {
    t.equal((await rotateKeySet(keySet(since), asked, make)).signs?.kid, 'b')
  }
  for (const since of [at(0), at(60)]) {
    t.equal(
      (await rotateKeySet(keySet(since, since), { ...asked, settle: 0 }, make)).signs?.kid,
      'b',
    )
  }
})

test('rotate only adds a next key if there is none', async (t) => {
  const { make } = maker()
  const keySet = [key('a', 'sign', { since: at(-9) }), key('expired', 'verify', { until: at(-9) })]
  const changed = await rotateKeySet(keySet, asked, make)
  t.strictSame(short(changed), [`a ES256 sign ${at(-9)} -`, `made 1 ES256 next ${at(0)} -`])
  t.strictSame(names([changed.signs, changed.verifies, changed.made]), [
    undefined,
    undefined,
    'made 1',
  ])
  t.match(
    (await rejectionOf(rotateKeySet(changed.keys, { ...asked, settle: 5 }, make))).message,
    'the next key',
  )
})

test('a new algorithm is published by one rotation and signs after the next', async (t) => {
  const { make } = maker()
  const es = { ...asked, alg: 'ES256' as const, settle: 0 }
  const hs = { alg: 'HS256' as const }
  const first = await rotateKeySet([key('a', 'sign', hs), key('b', 'next', hs)], es, make)
  t.strictSame(names([first.signs, first.verifies]), ['b', 'a'])
  t.match(first.made?.entry, { alg: 'ES256' })
  const second = await rotateKeySet(first.keys, { ...es, alg: undefined }, make)
  t.strictSame(names([second.signs, second.verifies]), ['made 1', 'b'])
  t.match(second.made?.entry, { alg: 'ES256' })
  const byHand = [key('a', 'sign', hs), key('b', 'next', hs), key('c', 'next')]
  t.equal((await rotateKeySet(byHand, es, make)).signs?.kid, 'c')
  t.equal((await rotateKeySet(byHand, { ...es, alg: undefined }, make)).signs?.kid, 'b')
})

test('rotate needs --alg if several keys sign', async (t) => {
  const { make } = maker()
  const rs = { alg: 'RS256' as const }
  const keySet = [key('a', 'sign'), key('b', 'sign', rs), key('c', 'next'), key('d', 'next', rs)]
  const unclear = await rejectionOf(rotateKeySet(keySet, { ...asked, alg: undefined }, make))
  t.match(unclear.message, 'signs with ES256, RS256.')
  t.match(unclear.error, { exit: 2, remedy: /--alg/ })
  t.match(await rejectionOf(rotateKeySet(keySet, { ...asked, alg: 'PS256' }, make)), unclear)
  const changed = await rotateKeySet(keySet, { ...asked, alg: 'RS256' }, make)
  t.strictSame(names([changed.signs, changed.verifies]), ['d', 'b'])
  const lonely = await rotateKeySet(keySet.slice(0, 3), { ...asked, alg: 'RS256' }, make)
  t.equal(lonely.signs, undefined, 'the next key of the other algorithm is not taken')
  t.match(lonely.made?.entry, rs)
})

test('revoke removes a key at once, and next takes over for sign', async (t) => {
  const { make } = maker()
  const keySet = [key('a', 'verify', { until: at(900) }), key('b', 'sign'), key('c', 'next')]
  const signer = await revokeKey(keySet, 'b', make)
  t.strictSame(short(signer), [
    `a ES256 verify - ${at(900)}`,
    `c ES256 sign ${at(0)} -`,
    'made 1 ES256 next - -',
  ])
  t.strictSame(names([signer.signs, signer.verifies, signer.made, ...signer.removed]), [
    'c',
    undefined,
    'made 1',
    'b',
  ])
  const verifier = await revokeKey(keySet, 'a', make)
  t.strictSame(names(verifier.keys), ['b', 'c'])
  t.equal(verifier.made, undefined)
  const next = await revokeKey(keySet, 'c', make)
  t.strictSame(short(next).at(-1), `made 2 ES256 next ${at(0)} -`)
  t.equal(next.signs, undefined)
  const two = await revokeKey([...keySet, key('d', 'next')], 'c', make)
  t.strictSame(names(two.keys), ['a', 'b', 'd'])
})

test('revoke of the last key that can sign makes two new keys', async (t) => {
  const { asked: made, make } = maker()
  const changed = await revokeKey([key('a', 'sign'), key('b', 'verify')], 'a', make)
  t.strictSame(short(changed), [
    'b ES256 verify - -',
    `made 1 ES256 sign ${at(0)} -`,
    'made 2 ES256 next - -',
  ])
  t.strictSame(made, [
    ['ES256', 'a'],
    ['ES256', 'made 1'],
  ])
})

test('rotate fails without a key that signs, and revoke for the only key', async (t) => {
  const { make } = maker()
  const keySet = [key('a', 'verify')]
  const none = { message: /no key that signs/, error: { exit: 1 } }
  t.match(await rejectionOf(rotateKeySet(keySet, asked, make)), none)
  const last = { message: /it is the only key/, error: { exit: 1 } }
  t.match(await rejectionOf(revokeKey(keySet, 'a', make)), last)
})
