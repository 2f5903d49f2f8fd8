// An address is one name at a login, however it is spelled: failures are counted for the user.
import t from 'tap'
import { newPassword } from '../helpers/accounts.js'
import { bearer } from '../helpers/app.js'
import { answerOf } from '../helpers/client.js'
import { usersApp } from '../helpers/users-app.js'

t.test('a token for what is no id and no address is rejected', async (t) => {
  const { app, create, me } = await usersApp(t)
  const id = await create('dora@example.com')
  const statusOf = async (sub: string | number) => me(bearer(app.jwtService.generateToken(sub)))
  t.equal(await statusOf(id), 200)
  for (const sub of [7, 'dora', `${id} `, id.toUpperCase()])
    t.equal(await statusOf(sub), 401, String(sub))
})

t.test('guesses are counted for a user, and not for a spelling', async (t) => {
  const throttle = { perUsername: 3, perAddress: 1000 }
  const { create, logIn } = await usersApp(t, {}, { throttle })
  const id = await create('dora@mail.b\u00fccher.example')
  await create('dora@mail.bucher.example')
  const spellings = [
    'dora@mail.b\u00fccher.example',
    ' DORA@mail.xn--bcher-kva.example',
    'dora@mail\u3002b\u00fccher\uff61example',
    'Dora@Mail.Bu\u0308cher.example',
  ]
  const answers = []
  for (const name of spellings) answers.push(answerOf(await logIn(name, 'wrong')))
  t.strictSame(answers, [
    ...Array<string>(3).fill('401 ERR_AUTH_INVALID_CREDENTIALS'),
    '429 ERR_AUTH_TOO_MANY_ATTEMPTS',
  ])
  t.equal(answerOf(await logIn(id)), '401 ERR_AUTH_INVALID_CREDENTIALS', 'an id is no name')
  t.match(answerOf(await logIn('dora@mail.bucher.example', newPassword)), /^200/, 'another user')
  t.match(answerOf(await logIn(String(spellings[0]))), /^429/, 'does not reset the count')
})
