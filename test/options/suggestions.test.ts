import t from 'tap'
import { appWith, secret, standardOptions } from '../helpers/app.js'

/** The startup error for options of the plugin and the mark of a route. */
function said(options: object, auth: unknown = true): Promise<string> {
  const starting = appWith(t, { ...standardOptions(), ...options }, (app) =>
    app.get('/', { config: { auth } as never }, () => 'never'),
  )
  return starting.then(() => '', String)
}

const meant = (text: string): string | undefined => /Did you mean "([^"]*)"\?/.exec(text)?.[1]

t.test('the error about a misspelt option suggests the right one', async (t) => {
  const rows: [options: object, name: string | undefined][] = [
    [{ session: true }, 'sessions'],
    [{ apikey: {} }, 'apiKeys'],
    [{ api_keys: {} }, 'apiKeys'],
    [{ userServise: {} }, 'userService'],
    [{ jwt: { secert: secret } }, 'jwt.secret'],
    [{ jwt: { secret, expiresIn: '5m' } }, 'jwt.expiry'],
    [{ sessions: { lifeTime: 5 } }, 'sessions.lifetime'],
    [{ authenticator: ['basick'] }, 'basic'],
    [{ colour: 'red' }, undefined],
    [{ x: 1 }, undefined],
    [{ '': 1 }, undefined],
  ]
  for (const [options, name] of rows) {
    const text = await said(options)
    t.match(text, /unknown option|not an authenticator/, JSON.stringify(options))
    t.equal(meant(text), name, text)
  }
})

t.test('the error about a misspelt member of a mark suggests the right one', async (t) => {
  const rows: [mark: unknown, name: string | undefined][] = [
    [{ roles: 'admin' }, 'role'],
    [{ scopes: 'a' }, 'scope'],
    [{ uses: 'jwt' }, 'use'],
    [{ scope: { every: ['a'] } }, undefined],
    [{ permission: 'a' }, undefined],
    [{ use: 'JWT' }, 'jwt'],
    [{ use: ['jwt', 'baisc'] }, 'basic'],
    [{ use: 'keycloak' }, undefined],
  ]
  for (const [mark, name] of rows) {
    const text = await said({}, mark)
    t.match(text, /ERR_AUTH_MARK|GET \//, JSON.stringify(mark))
    t.equal(meant(text), name, text)
  }
})
