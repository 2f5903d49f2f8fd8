// Also holds lib/authenticators/config-basic.ts.
import t from 'tap'
import { configBasicAuthenticator, type AuthnOptions } from '../../lib/index.js'
import { appWith, basic, bearer } from '../helpers/app.js'
import { basicChallenge, isWelcome, probe, texts } from '../helpers/flows.js'
import { runMatrix, type Outcome, type Row } from '../helpers/matrix.js'

const credentials = { username: 'admin', password: 'geheim:ключ' }

const options = (): AuthnOptions => ({
  basic: credentials,
  authenticators: { lenient: { ...configBasicAuthenticator(credentials), optional: true } },
})

const right = basic(credentials.username, credentials.password)
const header = (authorization: string): Record<string, string> => ({ authorization })
const none: Outcome = { none: { error: texts.none, challenge: basicChallenge } }
const wrong: Outcome = { wrong: { error: texts.invalid, challenge: basicChallenge } }
const malformed: Outcome = { wrong: { error: texts.none, challenge: basicChallenge } }
const encoded = (text: string): string => Buffer.from(text).toString('base64')

const rows: Row[] = [
  { name: 'right', headers: right, outcome: { user: 'admin' } },
  {
    name: 'right, scheme in lower case',
    headers: header(right.authorization.replace('Basic', 'basic')),
    outcome: { user: 'admin' },
  },
  { name: 'no header', headers: {}, outcome: none },
  { name: 'another scheme', headers: bearer('abc'), outcome: none },
  { name: 'wrong password', headers: basic('admin', 'geheim'), outcome: wrong },
  { name: 'password and more', headers: basic('admin', 'geheim:ключ '), outcome: wrong },
  { name: 'unknown user', headers: basic('root', credentials.password), outcome: wrong },
  { name: 'both empty', headers: basic('', ''), outcome: wrong },
  { name: 'scheme alone', headers: header('Basic'), outcome: malformed },
  { name: 'no base64', headers: header('Basic admin:geheim'), outcome: malformed },
  { name: 'no colon', headers: header(`Basic ${encoded('admin')}`), outcome: malformed },
  { name: 'a control character', headers: basic('admin\x07', 'geheim'), outcome: malformed },
]

t.test('configBasic: modes and credentials', async (t) =>
  runMatrix(t, { options, use: 'configBasic', lenient: 'lenient' }, rows),
)

t.test('configBasic: the user is { name } and nothing else', async (t) => {
  const app = await appWith(t, { basic: credentials }, (app) => {
    app.get('/', { config: { auth: true } }, (request) => request.user)
  })
  const response = await app.inject({ url: '/', headers: right })
  t.equal(response.statusCode, 200)
  t.strictSame(response.json(), { name: 'admin' })
})

t.test('configBasic: its own credentials win over the option basic', async (t) => {
  const { handler } = probe()
  const app = await appWith(
    t,
    {
      ...options(),
      authenticators: { own: configBasicAuthenticator({ username: 'a', password: 'b' }) },
    },
    (app) => void app.get('/', { config: { auth: { use: 'own' } } }, handler),
  )
  isWelcome(t, await app.inject({ url: '/', headers: basic('a', 'b') }), 'a')
  t.equal((await app.inject({ url: '/', headers: right })).statusCode, 401)
  const alone = { authenticator: configBasicAuthenticator({ username: 'a', password: 'b' }) }
  const other = await appWith(t, alone, (app) => {
    app.get('/', { config: { auth: true } }, handler)
  })
  isWelcome(t, await other.inject({ url: '/', headers: basic('a', 'b') }), 'a')
})
