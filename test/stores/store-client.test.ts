import type { FastifyInstance } from 'fastify'
import t from 'tap'
import { openStore } from '../../lib/stores/store-client.js'
import { openOnce } from '../../lib/stores/memory.js'
import { setNodeEnv } from '../helpers/environment.js'
import { fakeLog } from '../helpers/load.js'

interface Given {
  readonly app?: object
  readonly name?: string
  readonly isLocal?: boolean
}

/** Opens stores of one root. */
function opener() {
  const { lines, log } = fakeLog()
  const own = { log }
  const open = ({ app = own, name = 'default', isLocal = false }: Given = {}) =>
    openStore(
      { app: Object.assign(app, { log }) as FastifyInstance, root: own as FastifyInstance },
      {
        option: 'sessions',
        factory: { prefix: 'shop', isLocal, open: openOnce(() => ({ answer: async () => 1 })) },
        name,
        ifLocal: 'in memory',
        ifUnavailable: 'unavailable',
        patience: 0.02,
      },
    )
  return { open, lines }
}

t.test('two registrations have no records in common, and one may open its own again', async (t) => {
  const { open } = opener()
  t.ok(open() && open() && open({ app: {}, name: 'admin' }))
  t.throws(() => open({ app: {} }), { code: 'ERR_AUTH_OPTION', message: /"sessions\.name"/ })
  const once = openOnce(() => ({}))
  t.equal(once('a'), once('a'))
  t.not(once('a'), once('b'))
})

t.test('a store in memory is a warning in production alone', async (t) => {
  for (const [env, isLocal, count] of [
    ['production', true, 1],
    ['production', false, 0],
    ['development', true, 0],
  ] as const) {
    setNodeEnv(t, env)
    const { open, lines } = opener()
    open({ isLocal })
    t.equal(lines.length, count, env)
  }
})

t.test(
  'a store that fails or is late is a 503, logged once a minute without its query',
  async (t) => {
    const { open, lines } = opener()
    const { client } = open()
    t.equal(await client.call((store) => store.answer()), 1)
    const failure = Object.assign(new Error('refused'), { code: 'ECONNREFUSED', query: 'hidden' })
    const unavailable = { code: 'ERR_AUTH_STORE_UNAVAILABLE', statusCode: 503 }
    await t.rejects(
      client.call(() => Promise.reject(failure)),
      unavailable,
    )
    await t.rejects(
      client.call(() => new Promise(() => undefined)),
      unavailable,
    )
    t.equal(client.failures, 2)
    t.match(lines, [{ level: 'error' }])
    t.equal(lines.length, 1)
    t.match(JSON.stringify(lines), /ECONNREFUSED/)
    t.notMatch(JSON.stringify(lines), /hidden/)
  },
)
