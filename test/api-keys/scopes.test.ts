import t from 'tap'
import { appWith, logLines, type TestApp } from '../helpers/app.js'
import { keyOptions } from '../helpers/api-keys.js'

const ok = (): string => 'ok'

t.test('a warning at startup names the routes that accept keys and need no scope', async (t) => {
  const { lines, stream } = logLines()
  const logger = { level: 'warn', stream }
  const scoped = { use: 'apiKey', scope: 'a' }
  const named = (): unknown => lines.splice(0).map(({ msg }) => String(msg).match(/[A-Z]+ \/\w+/g))
  await appWith(
    t,
    keyOptions(),
    (app) => {
      app.get('/open', ok)
      app.get('/token', { config: { auth: true } }, ok)
      app.get('/scoped', { config: { auth: scoped } }, ok)
      app.get('/bare', { config: { auth: { use: 'apiKey' } } }, ok)
      app.get('/both', { config: { auth: { use: ['jwt', 'apiKey'] } } }, ok)
      app.get('/role', { config: { auth: { use: 'apiKey', role: 'editor' } } }, ok)
      app.get('/try', { config: { auth: { use: 'apiKey', mode: 'try' } } }, ok)
    },
    { logger },
  )
  t.strictSame(named(), [['GET /bare', 'GET /both', 'GET /role', 'GET /try']])
  const { jwt: _, ...options } = keyOptions()
  for (const [auth, expected] of [
    [true, [['GET /bare']]],
    [scoped, []],
  ] as const) {
    const declare = (app: TestApp): unknown => app.get('/bare', { config: { auth } }, ok)
    await appWith(t, { ...options, authenticator: 'apiKey' }, declare, { logger })
    t.strictSame(named(), expected)
  }
})
