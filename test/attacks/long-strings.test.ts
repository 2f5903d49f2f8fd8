// The work for a string of a client does not grow with the square of its length, wherever it stands.
import url from 'node:url'
import { syncBuiltinESMExports } from 'node:module'
import t from 'tap'
import { memoryApiKeys } from '../../lib/api-keys/index.js'
import { accountsApp, newPassword } from '../helpers/accounts.js'

const length = 10_000
const most = 3_000_000
const fill = (unit: string): string => unit.repeat(Math.ceil(length / unit.length)).slice(0, length)
/** Distinct characters and combining marks take the square of their number where they are encoded or put in order. */
const worst: Record<string, string> = {
  marks: `a${'\u0301'.repeat(length / 2)}${'\u0316'.repeat(length / 2)}`,
  characters: Array.from({ length }, (_, at) => String.fromCodePoint(0x4e00 + at)).join(''),
  ligatures: fill('\ufdfa'),
  punycode: `xn--${fill('9cy8b7x')}`,
  labels: fill('xn--9ca.'),
  dots: fill('.'),
  spaces: `a${fill(' ')}b`,
  commas: fill('a,'),
  semicolons: fill(';'),
  colons: `[${fill(']:1')}`,
  signs: fill('@'),
}

type Id = { id: number }
type Request = { method: 'GET' | 'POST'; url: string; headers: object; payload?: string }
type Place = (text: string) => Request
const bodyOf =
  (path: string, member: string, rest: object = {}, headers: object = {}): Place =>
  (text) => ({
    method: 'POST',
    url: path,
    headers: { 'content-type': 'application/json', ...headers },
    payload: JSON.stringify({ ...rest, [member]: text }),
  })
/** Header values are read as Latin-1. */
const headerOf =
  (name: string, make: (latin: string, text: string) => string, path = '/me'): Place =>
  (text) => ({
    method: 'GET',
    url: path,
    headers: { [name]: make(Buffer.from(text).toString('latin1'), text) },
  })
const basic = (_: string, text: string): string =>
  `Basic ${Buffer.from(`${text.slice(0, length / 2)}:x`).toString('base64')}`

async function setting(t: Parameters<typeof accountsApp>[0]) {
  const routeOptions = { bodyLimit: most }
  const app = await accountsApp(
    t,
    { routeOptions },
    {
      login: { usernameField: 'email', subject: (user: object) => (user as Id).id, routeOptions },
      cookies: true,
      apiKeys: { store: memoryApiKeys(), prefix: 'shop', header: 'x-api-key' },
      basic: { username: 'admin', password: newPassword },
      throttle: { perUsername: 1_000_000, perAddress: 1_000_000 },
    } as object,
    (app) => {
      const use = ['jwt', 'basic', 'apiKey']
      app.get('/all', { config: { auth: { use } } } as object, () => 'in')
      app.get('/configured', { config: { auth: { use: 'configBasic' } } }, () => 'in')
    },
    { bodyLimit: most, trustProxy: true },
  )
  const own = await app.logIn()
  const password = { password: newPassword }
  const rest = { ...password, currentPassword: 'x', email: 'dora@example.com', token: 'x' }
  /** One for each parser of a string. */
  const places: Record<string, Place> = {
    username: bodyOf('/login', 'email', password),
    'login password': bodyOf('/login', 'password', { email: 'alice@example.com' }),
    'refresh token': bodyOf('/login/refresh', 'refreshToken'),
    email: bodyOf('/sign-up', 'email'),
    'domain of an e-mail': (text) => bodyOf('/password/forgot', 'email')(`a@${text}.example`),
    'token of a link': bodyOf('/sign-up/finish', 'token', rest),
    'current password': bodyOf('/account/delete', 'currentPassword', rest, own),
    'new password': bodyOf('/password/change', 'password', rest, own),
    'Basic user-id': headerOf('authorization', basic, '/all'),
    'configured Basic user-id': headerOf('authorization', basic, '/configured'),
    Bearer: headerOf('authorization', (text) => `Bearer ${text}`),
    'JWT parts': headerOf('authorization', (text) => `Bearer ${text}.${text}.${text}`),
    'API key': headerOf('authorization', (text) => `Bearer shop_${text}`, '/all'),
    'header of API keys': headerOf('x-api-key', (text) => text, '/all'),
    'other scheme': headerOf('authorization', (text) => text, '/all'),
    language: headerOf('accept-language', (text) => text),
    address: headerOf('x-forwarded-for', (text) => text),
    origin: (text) => ({
      ...bodyOf('/account/delete', 'currentPassword', rest, own)('x'),
      headers: { ...own, origin: Buffer.from(text).toString('latin1') },
    }),
  }
  return { app: app.app, places }
}

t.test('no string beyond its own length is normalized or encoded', async (t) => {
  const { app, places } = await setting(t)
  const { normalize } = String.prototype
  const lengths: number[] = []
  const note = (text: string): number => lengths.push(text.length)
  t.intercept(String.prototype, 'normalize', {
    value(this: string, form?: string) {
      note(this)
      return normalize.call(this, form)
    },
  })
  const { domainToASCII } = url
  url.domainToASCII = (text) => (note(text), domainToASCII(text))
  syncBuiltinESMExports()
  t.teardown(() => {
    url.domainToASCII = domainToASCII
    syncBuiltinESMExports()
  })
  const long = Object.values(worst)
  for (const [name, place] of Object.entries(places)) {
    for (const text of [...long, (worst.marks as string).repeat(100)]) {
      const { statusCode } = await app.inject(place(text) as object)
      t.ok(statusCode < 500, `${name}: ${statusCode}`)
    }
    t.ok(Math.max(0, ...lengths.splice(0)) <= 512, name)
  }
  await app.inject(places['domain of an e-mail']?.('example') as object)
  t.strictSame(lengths.includes('example.example'.length), true, 'it would be seen')
})

t.test('the worst long string takes at most ten times the time of a plain one', async (t) => {
  const { app, places } = await setting(t)
  /** Milliseconds of processor time of one request. */
  const costOf = async (place: Place, text: string): Promise<number> => {
    const request = place(text)
    const before = process.cpuUsage()
    await app.inject(request as object)
    const { user, system } = process.cpuUsage(before)
    return (user + system) / 1000
  }
  /** The least of 4 requests, or of up to 40 while it is above `limit`: other threads count too. */
  const leastOf = async (place: Place, text: string, limit = 0): Promise<number> => {
    let least = Infinity
    for (let each = 0; each < (limit ? 40 : 4) && least >= limit; each += 1)
      least = Math.min(least, await costOf(place, text))
    return least
  }
  for (const [name, place] of Object.entries(places)) {
    await leastOf(place, fill('a'))
    const plain = await leastOf(place, fill('a'))
    const limit = 10 * Math.max(plain, 0.2)
    for (const [kind, text] of Object.entries(worst)) {
      const cost = await leastOf(place, text, limit)
      t.ok(cost < limit, `${name}, ${kind}: ${plain} and ${cost} ms`)
    }
  }
})
