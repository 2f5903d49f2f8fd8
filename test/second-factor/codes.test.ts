// Codes by RFC 6238, recovery codes, and guessing.
import t, { type Test } from 'tap'
import { totpCode } from '../../lib/testing/index.js'
import { digestOf } from '../../lib/common/digest.js'
import { tryCode, type Factor } from '../../lib/second-factor/factor.js'
import { clockOf } from '../helpers/clock.js'
import { password } from '../helpers/accounts.js'
import {
  codeNow,
  factorApp,
  otherKey,
  sessionOf,
  stepClock,
  wrongCode,
} from '../helpers/second-factor.js'

const login = '/login/second-factor'
const invalid = '403 ERR_AUTH_CODE_INVALID'
const tooMany = '429 ERR_AUTH_TOO_MANY_ATTEMPTS'
const tokens = '200 tokens'

/** Tries a code of alice, whose password is right, after so many seconds. */
type Try = (code: string, seconds?: number) => Promise<string>

async function guessing(t: Test, options: object = {}) {
  const clock = stepClock(t)
  const setting = await factorApp(t, {}, options)
  const enabled = await setting.enable()
  const attempt: Try = async (code, seconds = 0) => {
    clock.advance(seconds)
    return setting.send(login, { token: await setting.half(), code })
  }
  return { ...setting, ...enabled, clock, attempt }
}

async function fail({ secret, attempt }: { secret: string; attempt: Try }, times: number) {
  for (let count = 0; count < times; count += 1) await attempt(wrongCode(secret))
}

t.test('the vectors of RFC 6238, appendix B', async (t) => {
  const secret = 'GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ'
  const vectors: [number, string][] = [
    [59, '287082'],
    [1_111_111_109, '081804'],
    [1_111_111_111, '050471'],
    [1_234_567_890, '005924'],
    [2_000_000_000, '279037'],
    [20_000_000_000, '353130'],
  ]
  for (const [seconds, code] of vectors) t.equal(totpCode(secret, { at: seconds * 1000 }), code)
  t.equal(totpCode(secret.toLowerCase().replace(/.{4}/g, '$& '), { at: 59_000 }), '287082')
  for (const bad of ['', 'GEZDGNBV', 'not base32 at all'])
    t.throws(() => totpCode(bad), { code: 'ERR_AUTH_TESTING' })
})

t.test(
  'a code of the step before or after is right, and none at or before the last one',
  async (t) => {
    const { secret, attempt, clock } = await guessing(t)
    clock.advance(300)
    t.equal(await attempt(codeNow(secret, -2)), invalid, 'two before')
    t.equal(await attempt(codeNow(secret, 2)), invalid, 'two after')
    t.equal(await attempt(codeNow(secret, -1)), tokens)
    t.equal(await attempt(codeNow(secret)), tokens)
    t.equal(await attempt(codeNow(secret, 1)), tokens)
    for (const steps of [-1, 0, 1]) t.equal(await attempt(codeNow(secret, steps)), invalid)
  },
)

t.test('five wrong codes are free, then the wait doubles up to an hour', async (t) => {
  const setting = await guessing(t)
  const { secret, attempt, half, post, clock, events, app, lines } = setting
  for (let count = 0; count < 5; count += 1) t.equal(await attempt(wrongCode(secret)), invalid)
  for (const seconds of [60, 120, 240, 480, 960, 1920, 3600, 3600]) {
    const { statusCode, headers } = await post(login, {
      token: await half(),
      code: codeNow(secret),
    })
    t.equal(statusCode, 429)
    const wait = Number(headers['retry-after'])
    t.ok(wait <= seconds && wait > seconds - 5, `${wait} of ${seconds}`)
    clock.advance(seconds - 10)
    t.equal(await attempt(codeNow(secret)), tooMany, 'also a right one')
    t.equal(await attempt(wrongCode(secret), 10), invalid, 'the next guess')
  }
  clock.advance(3600)
  t.equal(await attempt(codeNow(secret)), tokens)
  t.equal(await attempt(wrongCode(secret)), invalid, 'counted from the beginning')
  t.equal(await attempt(codeNow(secret, 1)), tokens)
  t.equal(events.filter(({ action }) => action === 'failed').length, 14)
  t.match(app.authn.stats().secondFactor, { enabled: 1, failed: 14 })
  t.notMatch(lines.join(''), new RegExp(secret))
})

/** Guesses by what alone decides about codes, without logins: {@link tryCode} of what is stored after the last one. */
function guesser(t: Test) {
  const clock = clockOf(t)
  const secret = 'GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ'
  const bytes = Buffer.from('12345678901234567890')
  let factor: Factor = {
    id: 'one',
    secret: bytes.toString('base64url'),
    step: 0,
    wrong: 0,
    wait: null,
    codes: [digestOf('abcdabcdabcdabcd')],
  }
  return {
    secret,
    /** @returns the code of the error, if there is one */
    guess(code: string, seconds: number) {
      clock.advance(seconds)
      const { after, error } = tryCode(factor, code, 'the digest of a password')
      factor = after ?? factor
      return error?.code
    },
  }
}

t.test('of one guess a minute for a day, 40 at most are looked at', async (t) => {
  const { guess, secret } = guesser(t)
  const all = Array.from({ length: 1440 }, () => guess(wrongCode(secret), 60))
  const looked = all.filter((code) => code === 'ERR_AUTH_CODE_INVALID').length
  t.ok(looked > 5 && looked <= 40, `${looked}`)
})

t.test('after 100 wrong codes in a row, only a recovery code helps', async (t) => {
  const { guess, secret } = guesser(t)
  const all = Array.from({ length: 100 }, () => guess(wrongCode(secret), 3600))
  t.strictSame(new Set(all), new Set(['ERR_AUTH_CODE_INVALID']))
  const later = guess(codeNow(secret, 3000), 90_000)
  t.equal(later, 'ERR_AUTH_TOO_MANY_ATTEMPTS', 'a right one, a day later')
  t.equal(guess('aaaa-aaaa-aaaa-aaaa', 0), 'ERR_AUTH_CODE_INVALID', 'a wrong recovery code')
  t.equal(guess('abcd-abcd-abcd-abcd', 0), undefined)
  t.equal(guess(codeNow(secret), 0), undefined)
})

t.test('a code that was used is wrong, but not counted', async (t) => {
  const { secret, attempt, events } = await guessing(t)
  const used = codeNow(secret)
  for (let count = 0; count < 7; count += 1) t.equal(await attempt(used), invalid)
  t.equal(await attempt(codeNow(secret, 1)), tokens)
  t.match(events.at(-1), { action: 'failed', sub: '1' })
})

t.test('a new password ends the wait, but not the count', async (t) => {
  const setting = await guessing(t)
  const { secret, attempt, stored } = setting
  await fail(setting, 5)
  t.equal(await attempt(codeNow(secret, 1)), tooMany)
  const { hash } = await import('bcrypt')
  stored().password = await hash(password, 4)
  t.equal(await attempt(wrongCode(secret)), invalid)
  const { headers, statusCode } = await setting.post(login, {
    token: await setting.half(),
    code: '000000',
  })
  t.equal(statusCode, 429)
  t.ok(Number(headers['retry-after']) > 60, 'the sixth in a row')
})

t.test(
  'recovery codes work once, however they are written, also while codes have to wait',
  async (t) => {
    const setting = await guessing(t)
    const { secret, recoveryCodes, attempt, events, app, headers } = setting
    t.equal(recoveryCodes.length, 10)
    for (const code of recoveryCodes) t.match(code, /^(?:[a-z2-7]{4}-){3}[a-z2-7]{4}$/)
    t.equal(new Set(recoveryCodes).size, 10)
    await fail(setting, 5)
    const [first = '', second = '', third = ''] = recoveryCodes
    t.equal(await attempt(codeNow(secret, 1)), tooMany)
    t.equal(await attempt(first), tokens)
    t.equal(await attempt(codeNow(secret, 1)), tokens, 'which ends the wait')
    t.equal(await attempt(first), invalid, 'again')
    await fail(setting, 5)
    t.equal(await attempt(` ${second.toUpperCase().replaceAll('-', ' ')} `), tokens)
    t.equal(await attempt(third.replaceAll('-', '')), tokens)
    const used = events.filter(({ action }) => action === 'recovery-code-used')
    t.strictSame(
      used.map(({ left }) => left),
      [9, 8, 7],
    )
    const state = await app.inject({ url: '/second-factor', headers })
    t.strictSame(state.json(), { enabled: true, recoveryCodes: 7 })
    t.equal(state.headers['cache-control'], 'no-store')
  },
)

t.test('of one code, or of guesses, at once', async (t) => {
  const { secret, half, send, recoveryCodes } = await guessing(t)
  const token = await half()
  const atOnce = (count: number, code: () => string): Promise<string[]> =>
    Promise.all(Array.from({ length: count }, () => send(login, { token, code: code() })))
  const right = await atOnce(20, () => codeNow(secret, 1))
  t.strictSame(
    right.filter((each) => each === tokens),
    [tokens],
  )
  const recovery = await atOnce(20, () => String(recoveryCodes[0]))
  t.strictSame(
    recovery.filter((each) => each === tokens),
    [tokens],
  )
  const guesses = await atOnce(40, () => wrongCode(secret))
  t.equal(guesses.filter((each) => each === invalid).length, 5)
  t.ok(guesses.every((each) => [invalid, tooMany, '503 ERR_AUTH_OVERLOADED'].includes(each)))
})

const digitsFrom = (zero: number) => (code: string) =>
  code.replace(/\d/g, (digit) => String.fromCodePoint(zero + Number(digit)))
const wide = (code: string): string =>
  code.replace(/[!-~]/g, (char) => String.fromCodePoint(char.charCodeAt(0) + 0xfe_e0))
const halves = (between: string) => (code: string) =>
  `${code.slice(0, 3)}${between}${code.slice(3)}`

t.test('codes are accepted as people type and paste them', async (t) => {
  const { secret, attempt, post, headers, half, send, setUp, clock, recoveryCodes } =
    await guessing(t, {
      jwt: { secret: otherKey, expiry: 86_400 },
    })
  const marks = ['\u200b', '\u200e', '\u2066', '\ufeff', '\u00ad', '\u034f', '\u3164', '\ufe0f']
  const hyphens = [
    '-',
    '\u2010',
    '\u2011',
    '\u2013',
    '\u2014',
    '\u2212',
    '\u00ad',
    '\uff0d',
    '\u30fc',
  ]
  const spaces = [' ', '\t', '\u00a0', '\u202f', '\u3000', '\r\n']
  // Arabic, Persian, Devanagari, Thai, full width, bold (two code units) and Adlam.
  const zeros = [0x660, 0x6f0, 0x966, 0xe50, 0xff10, 0x1d7ce, 0x1e950]
  const ways = [...[...marks, ...hyphens, ...spaces].map(halves), ...zeros.map(digitsFrom)]
  for (const way of ways) t.equal(await attempt(way(codeNow(secret, 1)), 30), tokens, way('012345'))
  const written: ((code: string) => string)[] = [
    ...hyphens.slice(0, 6).map((each) => (code: string) => code.replaceAll('-', each)),
    wide,
    (code) => wide(code.toUpperCase()),
    (code) => `\u2068${code}\u2069.`,
    (code) => code.replaceAll('o', '0').replaceAll('l', '1'),
  ]
  for (const [at, write] of written.entries())
    t.equal(await attempt(write(recoveryCodes[at] ?? '')), tokens, write('abcd-efgl'))
  clock.advance(60)
  const odd = (code: string): string => halves('\u2013')(digitsFrom(0x660)(code))
  const confirmed = await post('/login/confirm', { code: odd(codeNow(secret)) }, headers)
  t.equal(confirmed.statusCode, 200)
  const own = sessionOf(confirmed)
  const { secret: next, body } = await setUp(own)
  const enable = { ...body, code: odd(body.code) }
  t.equal(await send('/second-factor/enable', enable, own), tokens)
  const token = await half()
  const long = { token, code: codeNow(next, 1).padEnd(65) }
  t.match(await send(login, long), /^400/, 'nothing longer is normalized')
})

t.test('other codes are wrong', async (t) => {
  const { attempt } = await guessing(t)
  const odd = [
    '1',
    '12345',
    '1234567',
    '１２３４５６',
    '\u0000',
    'é',
    '-',
    ' ',
    '123 4567',
    'a'.repeat(64),
  ]
  for (const code of odd) t.equal(await attempt(code), invalid, code)
})
