// Passkeys from the first to the last: they are added, log in, are listed, renamed and removed.
import t from 'tap'
import { answerOf, sessionOf } from '../helpers/client.js'
import { bearer } from '../helpers/app.js'
import { browser, passkeysApp, rpId } from '../helpers/passkeys.js'
import { claimsOf, eventsOf } from '../helpers/sessions.js'

t.test('a passkey is added, logs in, and is removed', async (t) => {
  const events = eventsOf(t, 'passkey')
  const { app, post, ask, add, enter, logIn, table } = await passkeysApp(t)
  const headers = await logIn()
  const { token: ceremony, publicKey } = await ask('/passkeys/options', headers)
  t.match(ceremony, /^[\w-]+(?:\.[\w-]+){2}$/)
  const userId = Buffer.from('1').toString('base64url')
  t.strictSame(
    { ...publicKey, challenge: '' },
    {
      challenge: '',
      rp: { id: rpId, name: 'Shop' },
      user: { id: userId, name: 'alice@example.com', displayName: 'alice@example.com' },
      pubKeyCredParams: [-8, -7, -257].map((alg) => ({ type: 'public-key', alg })),
      timeout: 600_000,
      attestation: 'none',
      excludeCredentials: [],
      authenticatorSelection: {
        residentKey: 'required',
        requireResidentKey: true,
        userVerification: 'required',
      },
    },
  )
  const passkey = browser()
  const added = await add(passkey, headers, 'My phone')
  t.equal(added.statusCode, 201)
  t.equal(added.headers['cache-control'], 'no-store')
  const [row] = table
  const { publicKey: key, counter, at, used, handle, ...shown } = row?.data ?? ({} as never)
  t.strictSame(added.json(), shown)
  t.match(shown, {
    id: /^[\w-]{22}$/,
    transports: ['internal'],
    aaguid: '00000000-0000-0000-0000-000000000000',
    backedUp: true,
    name: 'My phone',
    created: /^\d{4}-\d\d-\d\dT/,
    lastUsed: null,
  })
  t.match({ key, counter, owner: row?.owner }, { key: /^[\w-]+$/, counter: 0, owner: 1 })
  t.strictSame({ at, used, handle }, { at: 0, used: ['0'], handle: userId })

  const { publicKey: asked, token: login } = await ask('/login/passkey/options')
  t.strictSame(
    { ...asked, challenge: '' },
    {
      challenge: '',
      rpId,
      allowCredentials: [],
      timeout: 600_000,
      userVerification: 'required',
    },
  )
  const entered = await post('/login/passkey', { token: login, response: passkey.get(asked) })
  t.equal(entered.statusCode, 200)
  const { token } = entered.json<{ token: string }>()
  t.match(claimsOf(token), { sub: 1, amr: ['pop', 'mfa'], auth_time: Number })
  const own = bearer(token)
  t.equal((await app.inject({ url: '/mfa', headers: own })).statusCode, 200, 'two factors')
  const byPassword = await post('/begin', { id: 1, how: { amr: ['pwd'] } })
  const weak = sessionOf(byPassword)
  t.equal((await app.inject({ url: '/mfa', headers: weak })).statusCode, 401, 'a password is one')
  t.match(table[0]?.data.lastUsed, /^\d{4}-\d\d-\d\dT/)

  const { excludeCredentials } = (await ask('/passkeys/options', own)).publicKey
  t.strictSame(excludeCredentials, [{ type: 'public-key', id: shown.id, transports: ['internal'] }])
  t.equal(answerOf(await post('/passkeys/rename', { id: shown.id, name: 'Phone' }, own)), '204')
  const listed = await app.inject({ url: '/passkeys', headers: own })
  const { lastUsed = null } = table[0]?.data ?? {}
  t.strictSame(listed.json(), { rpId, userId, passkeys: [{ ...shown, name: 'Phone', lastUsed }] })
  t.equal(listed.headers['cache-control'], 'no-store')
  t.equal(answerOf(await post('/passkeys/remove', { id: shown.id }, own)), '204')
  t.strictSame(table, [])
  t.equal(answerOf(await enter(passkey)), '403 ERR_AUTH_PASSKEY_INVALID')
  const all = { sub: '1', id: shown.id, registration: '/', request: { method: 'POST' } }
  t.match(
    events,
    ['added', 'used', 'removed'].map((action) => ({ ...all, action })),
  )
  t.equal(events.length, 3)
})
