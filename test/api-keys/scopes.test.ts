// Routes that accept keys and require no scope.
import t from 'tap'
import { appWith, logLines } from '../helpers/app.js'
import { keyOptions } from '../helpers/api-keys.js'

const ok = (): string => 'ok'

t.test('they are named in one warning at startup', async (t) => {
  const { lines, stream } = logLines()
  await appWith(
    t,
    keyOptions(),
    async (app) => {
      app.get('/open', ok)
      app.get('/token', { config: { auth: true } }, ok)
      app.get('/scoped', { config: { auth: { use: 'apiKey', scope: 'a' } } }, ok)
      app.get('/bare', { config: { auth: { use: 'apiKey' } } }, ok)
      app.get('/both', { config: { auth: { use: ['jwt', 'apiKey'] } } }, ok)
      app.get('/role', { config: { auth: { use: 'apiKey', role: 'editor' } } }, ok)
      app.get('/try', { config: { auth: { use: 'apiKey', mode: 'try' } } }, ok)
    },
    { logger: { level: 'warn', stream } },
  )
  const named = lines.map(({ msg }) => String(msg).match(/[A-Z]+ \/\w+/g))
  t.strictSame(named, [['GET /bare', 'GET /both', 'GET /role', 'GET /try']])
})

t.test('also where keys are the default; no warning where all have a scope', async (t) => {
  const { jwt: _, ...options } = keyOptions()
  const { lines, stream } = logLines()
  const server = { logger: { level: 'warn', stream } }
  await appWith(
    t,
    { ...options, authenticator: 'apiKey' },
    (app) => {
      app.get('/bare', { config: { auth: true } }, ok)
    },
    server,
  )
  t.match(lines, [{ msg: /GET \/bare/ }])
  lines.length = 0
  await appWith(
    t,
    options,
    (app) => {
      app.get('/scoped', { config: { auth: { use: 'apiKey', scope: 'a' } } }, ok)
    },
    server,
  )
  t.strictSame(lines, [])
})
