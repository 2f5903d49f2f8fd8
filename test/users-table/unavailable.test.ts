// A store of users that fails: what clients get, what the log has, and that nothing is half done.
import t from 'tap'
import { newPassword } from '../helpers/accounts.js'
import { answerOf } from '../helpers/client.js'
import { usersApp, watchedStore } from '../helpers/users-app.js'
import {
  AuthenticationError,
  type AuthenticationErrorLike,
  type UserStore,
} from '../../lib/index.js'

const failing = () => {
  let error: unknown = null
  let only: keyof UserStore | null = null
  const store = watchedStore((method) => {
    if (error !== null && (only ?? method) === method) throw error as Error
  })
  const failWith = (next: unknown, method: keyof UserStore | null = null): void => {
    error = next
    only = method
  }
  return { store, failWith }
}

const driverError = (code?: string): Error =>
  Object.assign(new Error('invalid input syntax for type integer: "a secret"'), {
    ...(code && { code }),
    detail: 'Key (email)=(a secret) exists',
    query: 'a secret',
  })

t.test('a store that is away is a 503 everywhere, another failure a 500', async (t) => {
  const { store, failWith } = failing()
  const { app, create, enter, logIn, send, lines, mails, provide } = await usersApp(t, { store })
  const id = await create('dora@example.com')
  const headers = await enter('dora@example.com')
  await send('/sign-up', { email: 'new@example.com' })
  const [{ token = '' } = {}] = await mails()
  const all = async (): Promise<string[]> => [
    answerOf(await app.inject({ url: '/me', headers })),
    answerOf(await logIn('dora@example.com')),
    answerOf(await app.inject({ url: '/identities', headers })),
    await send('/sign-up/finish', { token, password: newPassword }),
    answerOf((await provide('1')).response),
    await app.authn.users
      .find(id)
      .then(String, ({ statusCode, code }: AuthenticationErrorLike) => `${statusCode} ${code}`),
  ]
  for (const code of [undefined, '08006', '57P01', 'EPIPE']) {
    failWith(driverError(code))
    t.strictSame([...new Set(await all())], ['503 ERR_AUTH_STORE_UNAVAILABLE'], String(code))
  }
  for (const code of ['22P02', '23503', '42P01', 'XX000']) {
    failWith(driverError(code))
    t.strictSame([...new Set(await all())], ['500 ERR_AUTH_USERS'], code)
  }
  failWith(null)
  t.equal((await app.inject({ url: '/me', headers })).statusCode, 200)
  t.ok(
    lines.some((line) => line.includes('22P02')),
    'the log has the code',
  )
  t.notOk(
    lines.some((line) => line.includes('a secret')),
    'and no value',
  )
})

t.test('what an ORM says around the error of its driver is not logged', async (t) => {
  const { store, failWith } = failing()
  const { create, logIn, lines } = await usersApp(t, { store })
  await create('dora@example.com')
  const answers = async (errors: readonly unknown[]): Promise<string[]> => {
    const all = []
    for (const error of errors) {
      failWith(error)
      all.push(answerOf(await logIn('dora@example.com')))
    }
    return all
  }
  const [away, rejected] = ['503 ERR_AUTH_STORE_UNAVAILABLE', '500 ERR_AUTH_USERS']
  const ofOrm = [undefined, '22001', 'P1001'].map(
    (code) => new Error('Failed query: select 1\nparams: a secret', { cause: driverError(code) }),
  )
  t.strictSame(await answers(ofOrm), [away, rejected, away])
  t.strictSame(await answers([{}, 'text', new TypeError('no method')]), [away, away, rejected])
  t.strictSame(await answers([{ code: '22001' }]), [rejected], 'an error without a message')
  const own = new AuthenticationError('Closed.', { code: 'ERR_AUTH_TOO_MANY_ATTEMPTS' })
  t.strictSame(
    await answers([own]),
    ['401 ERR_AUTH_INVALID_CREDENTIALS'],
    'a user whom the store rejects',
  )
  t.notOk(lines.some((line) => line.includes('a secret')))
})

t.test('what fails half way can be done again', async (t) => {
  const { store, failWith } = failing()
  const { app, create, enter, me } = await usersApp(t, { store })
  const { users } = app.authn
  const id = await create('dora@example.com')
  const headers = await enter('dora@example.com')
  failWith(driverError('23503'), 'remove')
  await t.rejects(users.remove(id, null), { code: 'ERR_AUTH_USERS' })
  t.ok(await users.find(id), 'the user stays')
  failWith(driverError(), 'setDisabled')
  await t.rejects(users.disable(id, null), { code: 'ERR_AUTH_STORE_UNAVAILABLE' })
  await t.rejects(users.disable(id, null))
  failWith(driverError(), 'list')
  await t.rejects(users.list(), { code: 'ERR_AUTH_STORE_UNAVAILABLE' })
  failWith(null)
  t.match(await users.find(id), { disabledAt: null })
  t.ok(await users.disable(id, null))
  t.equal(await me(headers), 401)
  failWith(driverError(), 'setDisabled')
  await t.rejects(users.enable(id, null))
  t.match(await users.find(id), { disabledAt: Date })
})
