// Accounts at providers: what their removal asks for, and whose they are.
import t from 'tap'
import { bearer } from '../helpers/app.js'
import { answerOf, type Headers } from '../helpers/client.js'
import { stale } from '../helpers/proof-app.js'
import { claimsOf } from '../helpers/sessions.js'
import { issuers, usersApp } from '../helpers/users-app.js'

t.test('a removal asks for a recent login of the user, with all factors', async (t) => {
  const { app, create, connect, enter, enable, addPasskey, send, store } = await usersApp(t)
  const weak = '401 ERR_AUTH_INSUFFICIENT_AUTHENTICATION'
  const forbidden = '403 ERR_AUTH_FORBIDDEN'
  let subjects = 0
  for (const has of ['a password', 'a passkey', 'a second factor']) {
    const email = `${has.replaceAll(' ', '-')}@example.com`
    const id = await create(email)
    const jar = await enter(email)
    const identity = { issuer: issuers.corp, subject: String((subjects += 1)) }
    await connect(jar, identity.subject)
    if (has === 'a passkey') await addPasskey(jar)
    const { headers: strong } = has === 'a second factor' ? await enable(jar) : { headers: jar }
    const [, last = ''] = /token=([^;]+)/.exec(String(strong.cookie)) ?? []
    const as = (changed: object): Headers =>
      bearer(app.jwtService.generateTokenWithClaims({ ...claimsOf(last), ...changed }))
    const needsMfa = has !== 'a password'
    const amr = needsMfa ? ['pwd', 'mfa'] : ['pwd']
    const cases: (readonly [string, Headers, string])[] = [
      ['nothing', {}, '401 ERR_AUTH_NO_CREDENTIALS'],
      ['no session', as({ sid: undefined }), forbidden],
      ['an impersonator', as({ act: { sub: 'x' } }), forbidden],
      ['an old login', as({ amr, auth_time: stale }), weak],
      ...(needsMfa ? ([['one factor', as({ amr: ['pwd'] }), weak]] as const) : []),
    ]
    for (const [title, headers, answer] of cases)
      t.equal(await send('/identities/remove', identity, headers), answer, `${has}: ${title}`)
    t.equal((await store.identities(id)).length, 1)
    t.equal(await send('/identities/remove', identity, as({ amr })), '204', has)
    t.equal((await store.identities(id)).length, 0)
  }
})

t.test('those of another user are neither shown nor removed', async (t) => {
  const { app, create, connect, enter, send, store } = await usersApp(t)
  const ids = [await create('erik@example.com'), await create('fay@example.com')]
  const [erik, fay] = [await enter('erik@example.com'), await enter('fay@example.com')]
  await connect(erik, '1')
  await connect(fay, '2')
  const identity = { issuer: issuers.corp, subject: '1' }
  t.equal(await send('/identities/remove', identity, fay), '404 ERR_AUTH_NOT_FOUND')
  const listed = await app.inject({ url: '/identities', headers: fay })
  t.match(listed.json(), [{ provider: 'corp', subject: '2' }])
  t.equal(answerOf(await app.inject({ url: '/identities' })), '401 ERR_AUTH_NO_CREDENTIALS')
  for (const id of ids) t.equal((await store.identities(id)).length, 1)
})
