import t from 'tap'
import type { JwtServiceLike } from '../../lib/index.js'
import { appWith } from '../helpers/app.js'

t.test('a JWT service of the app is never asked for what cannot be a token', async (t) => {
  const asked: string[] = []
  const jwtService: Partial<JwtServiceLike> = {
    signingMethod: 'HS256',
    load: async () => jwtService as never,
    canSign: () => false,
    canVerify: () => true,
    verifier: () => (token) => {
      asked.push(token)
      return { sub: 'alice' }
    },
  }
  const users = { findByUsername: () => ({ name: 'alice' }) }
  const app = await appWith(t, { userService: users, jwtService: jwtService as never }, (app) => {
    app.get('/', { config: { auth: true } }, () => 'in')
  })
  for (const token of ['a,b', 'a b', 'ä', '=']) {
    const headers = { authorization: `Bearer ${token}` }
    t.equal((await app.inject({ url: '/', headers })).statusCode, 401, token)
  }
  t.strictSame(asked, [])
  const headers = { authorization: 'Bearer a.b' }
  t.equal((await app.inject({ url: '/', headers })).statusCode, 200)
  t.strictSame(asked, ['a.b'])
})
