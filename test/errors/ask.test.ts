import t from 'tap'
import { AuthenticationError } from '../../lib/index.js'
import { askApp } from '../../lib/errors/ask.js'

const withStatus = (statusCode: unknown): Error =>
  Object.assign(new Error('of the app'), { statusCode })

t.test('what a function of the app throws is for the client if its status is 4xx', async (t) => {
  const ask = (work: () => unknown) => askApp('ERR_AUTH_ACCOUNTS', work)
  t.equal(await ask(async () => 1), 1)
  const rejection = new AuthenticationError('no', { code: 'ERR_AUTH_FORBIDDEN' })
  for (const error of [withStatus(400), withStatus(409), withStatus(499), rejection])
    await t.rejects(
      ask(() => Promise.reject(error)),
      error,
    )
  const faults = [new Error('x'), ...[399, 500, 200, '404'].map(withStatus)]
  for (const error of [...faults, null, undefined, 'text']) {
    const thrown = ask(() => {
      // oxlint-disable-next-line typescript/only-throw-error -- apps do
      throw error
    })
    await t.rejects(thrown, { code: 'ERR_AUTH_ACCOUNTS', statusCode: 500 })
  }
  await t.rejects(
    ask(() => new Error('returned')),
    { code: 'ERR_AUTH_ACCOUNTS' },
  )
})
