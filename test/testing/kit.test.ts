import t from 'tap'
import { actingAs, authnTesting } from '../../lib/testing/index.js'
import { appWith, bearer, standardOptions } from '../helpers/app.js'

t.test('only apps in which authnTesting is registered have other authenticators', async (t) => {
  const declare = (app: Parameters<NonNullable<Parameters<typeof appWith>[2]>>[0]): void => {
    app.get('/', { config: { auth: true } }, (request) => request.user)
  }
  const plain = await appWith(t, standardOptions(), declare)
  const alice = { id: 1, name: 'alice' }
  t.equal((await plain.inject({ url: '/', ...actingAs(alice) })).statusCode, 401)
  const tested = await appWith(t, standardOptions(), async (app) => {
    await app.register(authnTesting)
    declare(app)
  })
  t.strictSame((await tested.inject({ url: '/', ...actingAs(alice) })).json(), alice)
  t.equal((await tested.inject('/')).statusCode, 401)
  const headers = bearer(tested.jwtService.generateToken('bob'))
  t.match((await tested.inject({ url: '/', headers })).json(), { name: 'bob' })
})
