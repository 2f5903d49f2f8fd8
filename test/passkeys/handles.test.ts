// Which user a passkey is of: its user handle, also of another type or of another system, and what a client makes up.
import { generateKeyPairSync, randomBytes } from 'node:crypto'
import t, { type Test } from 'tap'
import type { AuthnOptions, PasskeysOptions } from '../../lib/index.js'
import { answerOf } from '../helpers/accounts.js'
import {
  assertionOf,
  base64url,
  coseOf,
  credentialOf,
  handleOf,
  type Credential,
} from '../helpers/authenticator.js'
import { browser, passkeysApp, passkeysOver, type StoredPasskey } from '../helpers/passkeys.js'

const invalid = '403 ERR_AUTH_PASSKEY_INVALID'

/** An app over a table that others have used, for users with one id. */
function shop(
  t: Test,
  id: string | number,
  table: StoredPasskey[],
  passkeys: Partial<PasskeysOptions> = {},
  options: Partial<AuthnOptions> = {},
) {
  const user = { id: 1, email: 'alice@example.com', password: null }
  return passkeysApp(
    t,
    { ...passkeysOver(table), ...passkeys },
    {
      userService: {
        findByUsername: (name) =>
          ['1', String(id), user.email].includes(String(name)) ? user : null,
      },
      login: { subject: () => id },
      ...options,
    },
  )
}

interface UserOptions {
  user: { id: string }
  excludeCredentials: { id: string }[]
}

t.test('an id that becomes a text, or a number, keeps its passkeys', async (t) => {
  for (const [from, to] of [
    [7, '7'],
    ['7', 7],
  ] as const) {
    const table: StoredPasskey[] = []
    const before = await shop(t, from, table)
    const headers = await before.logIn()
    const begun = await before.ask('/passkeys/options', headers)
    const passkey = browser()
    t.equal((await before.add(passkey, headers)).statusCode, 201)
    const after = await shop(t, to, table)
    t.equal(answerOf(await after.enter(passkey)), '200 tokens')
    const response = browser().create(begun.publicKey)
    const late = await after.post(
      '/passkeys',
      { token: begun.token, response },
      await after.logIn(),
    )
    t.equal(late.statusCode, 201, 'a ceremony that has begun before')
    const own = await after.logIn()
    const { publicKey } = await after.ask('/passkeys/options', own)
    const { user, excludeCredentials } = publicKey as unknown as UserOptions
    t.equal(user.id, handleOf(from), 'one user for the authenticator')
    t.equal(excludeCredentials.length, 2)
    const { userId, passkeys } = (await after.app.inject({ url: '/passkeys', headers: own })).json<{
      userId: string
      passkeys: { id: string }[]
    }>()
    t.equal(userId, handleOf(from))
    for (const { id } of passkeys)
      t.equal(
        (await after.post('/passkeys/remove', { id }, own)).statusCode,
        id === passkeys[1]?.id ? 409 : 204,
      )
  }
})

t.test('passkeys of another system find their user', async (t) => {
  const bytes = Buffer.from('f81d4fae7dec11d0a76500a0c91e6bf6', 'hex')
  const handle = base64url(bytes)
  const credential = { ...credentialOf(1), userHandle: handle }
  const data = {
    id: base64url(credential.id),
    publicKey: base64url(coseOf(credential)),
    handle,
    counter: 0,
    at: 0,
    transports: [],
    aaguid: '00000000-0000-0000-0000-000000000000',
    backedUp: true,
    name: 'of before',
    created: new Date().toISOString(),
    lastUsed: null,
  }
  const table: StoredPasskey[] = [{ owner: 1, data }]
  const username = async (given: Uint8Array) =>
    bytes.equals(given) ? 'alice@example.com' : undefined
  const { ask, post, enter, add, logIn } = await shop(t, 1, table, { username })
  const headers = await logIn()
  const { publicKey } = await ask('/passkeys/options', headers)
  t.equal((publicKey as unknown as UserOptions).user.id, handle, 'one user for the authenticator')
  const sent = async (own: Credential) => {
    const { token, publicKey } = await ask('/login/passkey/options')
    const body = { token, response: assertionOf(own, publicKey.challenge) }
    return [
      answerOf(await post('/login/passkey', body)),
      answerOf(await post('/login/passkey', body)),
    ]
  }
  t.strictSame(await sent(credential), ['200 tokens', invalid])
  t.strictSame(await sent({ ...credential, userHandle: handleOf(1) }), ['200 tokens', invalid])
  t.strictSame(await sent({ ...credentialOf(1), userHandle: handle }), [invalid, invalid])
  for (const userHandle of ['AA', base64url(randomBytes(16)), handleOf('alice@example.com')])
    t.strictSame(await sent({ ...credential, userHandle }), [invalid, invalid])
  const passkey = browser()
  t.equal((await add(passkey, headers)).statusCode, 201)
  t.equal(answerOf(await enter(passkey)), '200 tokens')
  for (const wrong of [{}, true, '', Number.NaN]) {
    const other = await shop(t, 1, table, { username: () => wrong as never })
    t.equal(answerOf(await other.enter(passkey)), invalid)
  }
  const failing = await shop(t, 1, table, {
    username: () => {
      throw new Error('secret of the database')
    },
  })
  t.match(answerOf(await failing.enter(passkey)), /^500 ERR_AUTH_PASSKEYS/)
})

t.test('an address tells nothing: what is slow is asked for a proved user alone', async (t) => {
  let asked = 0
  const login = {
    subject: () => 1,
    claims: () => {
      asked += 1
      return {}
    },
  }
  const { app, post, ask, add, enter, logIn } = await shop(t, 1, [], {}, { login })
  const passkey = browser()
  await add(passkey, await logIn())
  asked = 0
  for (const sub of ['alice@example.com', 'bob@example.com']) {
    const { token, publicKey } = await ask('/login/passkey/options')
    const stranger = { ...credentialOf(1), userHandle: handleOf(sub) }
    const body = { token, response: assertionOf(stranger, publicKey.challenge) }
    t.equal(answerOf(await post('/login/passkey', body)), invalid)
  }
  t.equal(asked, 0)
  t.equal(answerOf(await enter(passkey)), '200 tokens')
  t.ok(asked > 0)
  const signs: unknown[] = []
  const { generateTokenWithClaims } = app.jwtService
  t.intercept(app.jwtService, 'generateTokenWithClaims', {
    value(...given: Parameters<typeof generateTokenWithClaims>) {
      signs.push(given)
      return generateTokenWithClaims.apply(app.jwtService, given)
    },
  })
  await ask('/login/passkey/options')
  t.strictSame(signs, [], 'no private key signs for everybody')
})

t.test('another sub in login.claims would lose the passkeys', async (t) => {
  const login = { subject: () => 1, claims: () => ({ sub: 'alice@example.com' }) }
  const { post, logIn } = await shop(t, 1, [], {}, { login })
  const sent = await post('/passkeys/options', {}, await logIn())
  t.match(answerOf(sent), /^500 ERR_AUTH_PASSKEYS/)
})

t.test('a challenge goes on when the keys are rotated', async (t) => {
  const table: StoredPasskey[] = []
  const pem = () =>
    generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey.export({
      type: 'pkcs8',
      format: 'pem',
    }) as string
  const [one, other, third] = [pem(), pem(), pem()]
  const keys = (...given: [string, string, 'sign' | 'verify' | 'next'][]) => ({
    jwt: { keys: given.map(([kid, key, state]) => ({ kid, alg: 'ES256', private: key, state })) },
  })
  const before = await shop(
    t,
    1,
    table,
    {},
    keys(['a', one, 'sign'], ['b', other, 'next']) as never,
  )
  const passkey = browser()
  await before.add(passkey, await before.logIn())
  const body = await before.answer(passkey)
  const strange = await shop(t, 1, table, {}, keys(['c', third, 'sign']) as never)
  t.equal(answerOf(await strange.post('/login/passkey', body)), '401 ERR_AUTH_LOGIN_EXPIRED')
  const after = await shop(
    t,
    1,
    table,
    {},
    keys(['a', one, 'verify'], ['b', other, 'sign']) as never,
  )
  t.equal(answerOf(await after.post('/login/passkey', body)), '200 tokens')
  const back = await after.answer(passkey)
  t.equal(answerOf(await before.post('/login/passkey', back)), '200 tokens')
})
