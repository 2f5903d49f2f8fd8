import { readFileSync } from 'node:fs'
import t from 'tap'
import { authn } from '../../lib/index.js'
import { actingAs, authnTesting } from '../../lib/testing/index.js'
import { appWith, bearer, standardOptions } from '../helpers/app.js'
import { root } from '../helpers/project.js'

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

t.test('one range of Fastify versions, in package.json and in both plugins', async (t) => {
  const { peerDependencies } = JSON.parse(readFileSync(`${root}package.json`, 'utf8')) as {
    peerDependencies: { fastify: string }
  }
  const rangeOf = (plugin: object): unknown =>
    (plugin as Record<symbol, { fastify?: unknown } | undefined>)[Symbol.for('plugin-meta')]
      ?.fastify
  t.strictSame([authn, authnTesting].map(rangeOf), Array(2).fill(peerDependencies.fastify))
  t.equal(peerDependencies.fastify, '^5.12.5', 'earlier versions have known holes')
})
