// What is said of the open routes. What holds for all routes of the plugin is in `test/plugin-routes.test.ts`.
import t from 'tap'
import { accountsApp, newPassword } from '../helpers/accounts.js'
import { basic, bearer } from '../helpers/app.js'

const body = { email: 'dora@example.com', password: newPassword }

t.test('the open routes ignore credentials, whatever they are', async (t) => {
  const { send } = await accountsApp(t)
  for (const headers of [bearer('a.b.c'), basic('mallory', 'x'), { authorization: '?' }]) {
    t.equal(await send('/sign-up', body, headers), '202 {}')
    t.equal(
      await send('/password/reset', { ...body, token: 'a.b.c' }, headers),
      '400 ERR_AUTH_LINK_INVALID',
    )
  }
})

t.test('without cookies, pages of other sites may call the open ones', async (t) => {
  const { send } = await accountsApp(t)
  t.equal(await send('/sign-up', body, { 'sec-fetch-site': 'cross-site' }), '202 {}')
})
