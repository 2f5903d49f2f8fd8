// program: its own
// The order of loading. Nothing here may import fastify-authn/context before a test does.
import t from 'tap'
import { appWith, bearer, standardOptions } from '../helpers/app.js'

const isOn = (): boolean => Symbol.for('fastify-authn.context') in globalThis

t.test('the async storage exists once fastify-authn/context is loaded', async (t) => {
  let load: (() => Promise<unknown>) | null = null
  let current = (): unknown => 'not loaded'
  const app = await appWith(t, standardOptions(), (app) => {
    app.get('/', { config: { auth: true } }, async (request) => {
      await load?.()
      return { user: request.user, context: current() }
    })
    app.get('/open', () => ({ context: current() }))
  })
  const headers = bearer(app.jwtService.generateToken('alice'))
  const get = async (): Promise<{ user: object; context: object | string | null }> => {
    const response = await app.inject({ url: '/', headers })
    t.equal(response.statusCode, 200)
    return response.json()
  }
  const { user, context } = await get()
  t.match(user, { name: 'alice' })
  t.equal(context, 'not loaded')
  t.strictSame((await app.inject('/open')).json(), { context: 'not loaded' })
  t.notOk(isOn(), 'served without a storage')

  load = async () => {
    const { userFromContext } = await import('../../lib/request/context.js')
    current = userFromContext
  }
  t.equal((await get()).context, null, 'not in the request in which it is loaded')
  t.ok(isOn())
  const next = await get()
  t.strictSame(next.context, next.user, 'in the next one, though the app was ready before')
  t.strictSame((await app.inject('/open')).json(), { context: null })
})
