// What a user has to prove before a password, an address, a factor, a passkey or a linked account changes.
import t from 'tap'
import { newPassword, password } from '../helpers/accounts.js'
import { proofApp, stale, type Person } from '../helpers/proof-app.js'
import { answerOf, bodyOf, claimsIn, sessionOf } from '../helpers/second-factor.js'
import type { AnyResponse } from '../helpers/flows.js'

const wish = { 'token-delivery': 'body' }
const insufficient = '401 ERR_AUTH_INSUFFICIENT_AUTHENTICATION'

/** The routes of each row of the rule, with a body that is right, or wrong in what is looked at later. */
const routes = {
  see: {
    'GET /login/confirm': {},
    'GET /second-factor': {},
    'GET /passkeys': {},
    'POST /passkeys/rename': { id: 'x', name: 'x' },
    'POST /second-factor/forget-devices': {},
  },
  password: {
    'POST /password/change': { currentPassword: password, password: newPassword },
    'POST /email/change': { currentPassword: password, email: 'new@shop.example' },
    'POST /account/delete': { currentPassword: password },
  },
  change: {
    'POST /login/corp/link': {},
    'POST /second-factor/setup': {},
    'POST /second-factor/enable': { token: 'x', code: '000000' },
    'POST /second-factor/disable': {},
    'POST /second-factor/recovery-codes': {},
    'POST /passkeys/options': {},
    'POST /passkeys': { token: 'x', response: {} },
    'POST /passkeys/remove': { id: 'x' },
  },
} as const
type Row = keyof typeof routes
const rows = Object.keys(routes) as Row[]

function routesOf(row: Row, person: Person): [route: string, body: object][] {
  const all = Object.entries(routes[row])
  if (person !== 'no password' || row !== 'password') return all
  // A first password needs a link.
  return [...all.slice(1), ['POST /password/set', {}]]
}

/** What the rule asks for: `mfa`, `fresh` or both; nothing where a request has passed it. */
function askedIn(response: AnyResponse): string {
  const answer = answerOf(response)
  if (answer !== insufficient)
    return /NO_CREDENTIALS|JWT|NOT_ACCEPTED|^5/.test(answer) ? answer : ''
  const challenge = String(response.headers['www-authenticate'])
  const found = { mfa: /acr_values="mfa"/, fresh: /max_age="600"/ }
  const names = Object.entries(found).filter(([, pattern]) => pattern.test(challenge))
  return names.map(([name]) => name).join('+')
}

/** Sessions, and what the rows `password` and `change` ask of them. */
const sessions: [Person, how: object, ofPassword: string, ofChange: string][] = [
  ['plain', { amr: ['pwd'] }, '', ''],
  ['plain', { amr: ['pwd'], authTime: stale }, '', 'fresh'],
  ['code', { amr: ['pwd'] }, 'mfa', 'mfa+fresh'],
  ['code', { amr: ['pwd'], authTime: stale }, 'mfa', 'mfa+fresh'],
  ['code', { amr: ['pwd', 'otp', 'mfa'] }, '', ''],
  ['code', { amr: ['pwd', 'otp', 'mfa'], authTime: stale }, '', 'mfa+fresh'],
  ['passkey', { amr: ['pwd'] }, 'mfa', 'mfa+fresh'],
  ['passkey', { amr: ['pwd'], authTime: stale }, 'mfa', 'mfa+fresh'],
  ['passkey', { amr: ['pop', 'mfa'] }, '', ''],
  ['passkey', { amr: ['pop', 'mfa'], authTime: stale }, '', 'mfa+fresh'],
  ['no password', {}, '', ''],
  ['no password', { authTime: stale }, 'fresh', 'fresh'],
]

t.test('what each route needs of a session of its user', async (t) => {
  const { begin, ask } = await proofApp(t)
  for (const [person, how, ofPassword, ofChange] of sessions) {
    const wanted = { see: '', password: ofPassword, change: ofChange }
    for (const row of rows) {
      for (const [route, body] of routesOf(row, person)) {
        const response = await ask(route, await begin(person, how), body)
        t.equal(askedIn(response), wanted[row], `${person} ${JSON.stringify(how)}: ${route}`)
      }
    }
  }
})

t.test('a passkey that is no second factor', async (t) => {
  const { app, begin, ask, asked, passkey, post } = await proofApp(t, { passkeys: { mfa: false } })
  for (const [authTime, wanted] of [
    [undefined, ''],
    [stale, 'fresh'],
  ] as const) {
    for (const [route, body] of Object.entries(routes.change)) {
      const headers = await begin('passkey', { amr: ['pwd'], authTime })
      t.equal(askedIn(await ask(route, headers, body)), wanted, route)
    }
  }
  const logIn = async () => {
    const { token, publicKey } = await asked('/login/passkey/options', {})
    return post('/login/passkey', { token, response: passkey.get(publicKey) }, wish)
  }
  const response = await logIn()
  t.strictSame(claimsIn(bodyOf(response).token).amr, ['pop'])
  const own = sessionOf(response)
  t.equal((await app.inject({ url: '/mfa', headers: own })).statusCode, 401)
  const shown = await app.inject({ url: '/login/confirm', headers: own })
  const methods = { fresh: ['password', 'provider:corp', 'passkey'], mfa: [] }
  t.match(shown.json(), { mfa: false, methods })
  const ceremony = await asked('/login/passkey/options', own)
  const again = { token: ceremony.token, response: passkey.get(ceremony.publicKey) }
  const confirmed = await post('/login/confirm', again, { ...own, ...wish })
  t.strictSame(claimsIn(bodyOf(confirmed).token).amr, ['pop'])
})

t.test('what another registration with the same users knows counts too', async (t) => {
  const rows: [person: Person, audience: string | undefined, wanted: string][] = [
    ['plain', undefined, ''],
    ['code', undefined, 'mfa'],
    ['passkey', undefined, 'mfa'],
    ['passkey', 'other', ''],
  ]
  for (const [person, audience, wanted] of rows) {
    const other = (features: object) => ({
      ...features,
      ...(audience && { jwt: { secret: 'k'.repeat(32), audience } }),
    })
    const { begin, ask } = await proofApp(t, { other })
    const headers = await begin(person, { amr: ['pwd'] }, '/other/begin')
    const body = routes.password['POST /email/change']
    const response = await ask('POST /other/email/change', headers, body)
    t.equal(askedIn(response), wanted, `${person}, ${audience}`)
  }
})

t.test('where it cannot be told, it is an internal error', async (t) => {
  const { begin, ask, rowOf, steps } = await proofApp(t)
  const body = routes.password['POST /email/change']
  const headers = await begin('plain')
  steps.before = async (name) => {
    if (name === 'passkeys list') throw new Error('a secret')
  }
  for (const route of ['POST /email/change', 'POST /second-factor/setup'])
    t.equal(answerOf(await ask(route, headers, body)), '500 ERR_AUTH_PASSKEYS')
  steps.before = async () => undefined
  for (const route of ['POST /email/change', 'POST /passkeys/options']) {
    delete rowOf('plain').secondFactor
    t.equal(answerOf(await ask(route, headers, body)), '500 ERR_AUTH_SECOND_FACTOR')
  }
})
