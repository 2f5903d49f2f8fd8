import {
  array,
  assert,
  asyncProperty,
  constantFrom,
  dictionary,
  jsonValue,
  oneof,
  string,
} from 'fast-check'
import t from 'tap'
import { accountsApp, newPassword, password } from '../helpers/accounts.js'
import { anyCharacter, bounded } from '../helpers/cases.js'
import { claimsOf } from '../helpers/sessions.js'

const routes =
  '/sign-up /sign-up/finish /password/forgot /password/reset /password/change /password/set /email/change /email/confirm /account/delete'.split(
    ' ',
  )
const usable = /^\P{Cc}{1,1024}$/u

t.test('odd requests give no 5xx, change nothing and look no odd name up', async (t) => {
  const setting = await accountsApp(t, {}, { throttle: false, hashing: { maxQueue: 1000 } })
  const { app, post, tokenOf, logIn, table, asked } = setting
  let headers = await logIn()
  const carol = await logIn(3)
  const set = await tokenOf('/password/set', {}, carol)
  const reset = await tokenOf('/password/forgot', { email: 'alice@example.com' })
  const tokens = app.jwtService
  const { sub, sid } = claimsOf(headers.authorization ?? '')
  /** Signed by us, as no other part of the plugin does. */
  const signed = [{}, { sub, sid }, { page: 'reset', path: '/login', sub: 1 }].map((claims) =>
    tokens.generateTokenWithClaims(claims),
  )
  const odd = oneof(
    string({ unit: anyCharacter }),
    constantFrom('', '\0', '\ud800', '@', 'a@', '@a', 'a@b@c', '%', '__proto__', '{}', '\r\n'),
    constantFrom(...signed, `${reset}x`, reset.slice(0, -1), reset.replace('.', '..'), `${set}x`),
    constantFrom('a'.repeat(5000), '.'.repeat(5000), '💩'.repeat(1000)),
    array(constantFrom('a', '@', '.', '-', '\u212a', '%40', ' ', '\n', '[', '1'), {
      maxLength: 12,
    }).map((parts) => `${parts.join('')}@${parts.toReversed().join('')}`),
  )
  const value = oneof({ arbitrary: odd, weight: 4 }, jsonValue())
  const names = oneof(
    { arbitrary: constantFrom('email', 'token', 'password', 'currentPassword'), weight: 9 },
    string(),
  )
  const bodies = oneof(
    { arbitrary: dictionary(names, value, { noNullPrototype: true }), weight: 9 },
    jsonValue(),
  )
  const types = constantFrom('application/json', 'application/json; charset=utf-16', 'text/plain')
  const before = JSON.stringify(table)
  asked.length = 0
  const property = asyncProperty(
    constantFrom(...routes),
    bodies,
    types,
    constantFrom('none', 'alice', 'carol'),
    async (url, body, type, user) => {
      // Carol needs no more than her session for a deletion.
      const isCarol = user === 'carol' && url !== '/account/delete'
      const credentials = isCarol ? carol : headers
      const given = { 'content-type': type, ...(user !== 'none' && credentials) }
      const { statusCode, body: text } = await post(url, JSON.stringify(body), given)
      // The fifth wrong password ends a session, and nothing else does.
      if ((await setting.me(headers)) === 401) headers = await logIn()
      if (![202, 400, 401, 403, 413, 415].includes(statusCode))
        throw new Error(`${statusCode}: ${text}`)
      await setting.mails()
      for (const name of asked.splice(0))
        if (!usable.test(String(name))) throw new Error(`looked up ${JSON.stringify(name)}`)
      if (JSON.stringify(table) !== before) throw new Error('the table has changed')
    },
  )
  await assert(property, bounded(1500))
  t.notMatch(setting.lines.join(''), /"level":(50|60)/)
  t.equal(await setting.me(carol), 200, 'nothing was revoked')
  const change = { currentPassword: password, password: newPassword }
  t.equal(await setting.send('/password/change', change, headers), '200 tokens')
})
