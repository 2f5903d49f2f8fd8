// Also holds lib/sessions/stores/redis.ts, where there is no redis-server.
import { EventEmitter } from 'node:events'
import t from 'tap'
import { redisSessions } from '../../../lib/sessions/stores/redis.js'
import { newSession, swapOf } from '../../../lib/testing/stores/bench.js'
import { settle, until } from '../../helpers/load.js'

type Answer = (script: string, values: readonly string[]) => unknown

/** A client as ioredis makes it, whose server answers with what the test says. */
class FakeClient extends EventEmitter {
  status = 'ready'
  options: { keyPrefix?: string } = {}
  readonly sent: string[][] = []
  readonly duplicates: FakeSubscriber[] = []
  readonly #answer: Answer
  readonly #known = new Set<string>()

  constructor(answer: Answer = () => '1') {
    super()
    this.#answer = answer
  }

  async evalsha(digest: string, _keys: number, ...values: string[]): Promise<unknown> {
    if (!this.#known.has(digest)) throw new Error('NOSCRIPT No matching script.')
    return this.#answer('known', values)
  }

  async eval(script: string, _keys: number, ...values: string[]): Promise<unknown> {
    this.sent.push([script, ...values])
    return this.#answer(script, values)
  }

  connect(): Promise<void> {
    this.status = 'connecting'
    return Promise.reject(new Error('the error is told by the event'))
  }

  become(status: string, event = status): void {
    this.status = status
    this.emit(event)
  }

  duplicate(): FakeSubscriber {
    const subscriber = new FakeSubscriber()
    this.duplicates.push(subscriber)
    return subscriber
  }
}

class FakeSubscriber extends FakeClient {
  readonly channels: string[] = []
  works = true

  async subscribe(channel: string): Promise<void> {
    this.channels.push(channel)
    if (!this.works) throw new Error('NOPERM')
  }

  disconnect(): void {
    this.status = 'end'
  }
}

t.test('what is no client of ioredis, and prefixes', async (t) => {
  const client = new FakeClient()
  const code = 'ERR_AUTH_OPTION'
  for (const wrong of [undefined, null, {}, { evalSha() {}, eval() {}, duplicate() {} }]) {
    t.throws(() => redisSessions(wrong as never), { code, message: /a client of ioredis/ })
  }
  for (const prefix of ['', 'a b', '{a}', 'x'.repeat(65), 1, null]) {
    const options = { prefix: prefix as string }
    t.throws(() => redisSessions(client, options), { code, message: /expected 1 to 64 letters/ })
  }
  t.match(redisSessions(client), { prefix: 'fastify-authn', isLocal: false })
  t.match(redisSessions(client, { prefix: 'a.b:c-d_1' }), { prefix: 'a.b:c-d_1' })
})

t.test('all keys of a registration are in one slot, whatever its name', async (t) => {
  const client = new FakeClient(() => [])
  for (const name of ['shop', '{a}:b', 'läden', '\ud83e'])
    await redisSessions(client).open(name).list('a')
  t.strictSame(
    client.sent.map(([, key]) => key),
    [
      '{fastify-authn:shop}',
      '{fastify-authn:%7b;a%7d;%3a;b}',
      '{fastify-authn:l%e4;den}',
      '{fastify-authn:%d83e;}',
    ],
  )
})

t.test('rows', async (t) => {
  const { sid, sub, address, userAgent, data } = newSession()
  const about = { sid, sub, address, userAgent, data }
  const row = (created: string) => [JSON.stringify(about), created, '2.5', '9']
  const session = { ...about, created: 1, lastUsed: 2.5, endsAt: 9 }
  let answer: unknown
  const store = redisSessions(new FakeClient(() => answer)).open('shop')
  const gives = (given: unknown) => {
    answer = given
    return store
  }
  t.strictSame(await gives('1.5').create(newSession()), { now: 1.5 })
  t.strictSame(await gives(['3', row('1')]).find('h'), { session, now: 3 })
  t.strictSame(await gives(['3', null]).find('h'), { session: null, now: 3 })
  const swap = swapOf(newSession())
  const swapped = { outcome: 'swapped', session, now: 3 }
  t.strictSame(await gives(['swapped', '3', row('1')]).swap(swap), swapped)
  t.strictSame(await gives(['late']).swap(swap), { outcome: 'late' })
  const repeated = { ...swapped, outcome: 'repeated', sealed: 's' }
  t.strictSame(await gives(['repeated', '3', row('1'), 's']).swap(swap), repeated)
  t.strictSame(await gives(['9.5:a:b']).end({ sid: 'a:b' }, 1), [{ sid: 'a:b', until: 9.5 }])
  t.strictSame(await gives(['0', ['9:a']]).end({ sub: 'x' }, 1), [{ sid: 'a', until: 9 }])
  const newest = (await gives([row('1'), row('2')]).list('x')).map(({ created }) => created)
  t.strictSame(newest, [2, 1])
})

t.test('a client that is about to get its first connection is waited for', async (t) => {
  const client = new FakeClient(() => [])
  client.status = 'wait'
  const store = redisSessions(client).open('shop')
  const lists = [store.list('a'), store.list('b')]
  await settle()
  t.strictSame([client.status, client.sent.length], ['connecting', 0], 'it is told to connect')
  t.equal(client.listenerCount('ready'), 1, 'however many wait')
  client.become('ready')
  t.strictSame(await Promise.all(lists), [[], []])
  t.equal(client.listenerCount('ready'), 0)

  client.status = 'connecting'
  const list = store.list('a')
  client.become('close')
  client.status = 'reconnecting'
  await t.rejects(list, /not ready, but reconnecting/)
  t.equal(client.sent.length, 2, 'nothing is left in a queue, to be done who knows when')
  await t.rejects(store.list('a'), /not ready, but reconnecting/)
})

t.test('errors of a script are errors', async (t) => {
  const client = new FakeClient(() => {
    throw new Error('READONLY You can not write against a read only replica.')
  })
  await t.rejects(redisSessions(client).open('shop').create(newSession()), /READONLY/)
})

t.test('the second connection', async (t) => {
  const client = new FakeClient(() => ['1', ['9:a']])
  client.options = { keyPrefix: 'app:' }
  const told: string[] = []
  const store = redisSessions(client).open('shop')
  await store.watch({
    ended: (ends) => told.push(...ends.map(({ sid }) => sid)),
    caughtUp: () => undefined,
    lost: () => undefined,
  })
  const [subscriber] = client.duplicates as [FakeSubscriber]
  subscriber.emit('error', new Error('does not end the process'))
  await until(() => told.length === 1, 'what was ended is told')
  subscriber.become('ready')
  t.strictSame(subscriber.channels, ['app:{fastify-authn:shop}:ends'])
  await until(() => told.length === 2, 'after the subscription it is asked for once more')
  subscriber.emit('message')
  await until(() => told.length === 3, 'and after a message')
  subscriber.works = false
  subscriber.become('ready')
  await settle()
  t.equal(told.length, 3)
  await store.close()
  t.equal(subscriber.status, 'end')
  t.equal(client.status, 'ready', "the app's own stays")
  await store.close()

  const lazy = new FakeClient(() => ['1', []])
  const duplicate = lazy.duplicate.bind(lazy)
  lazy.duplicate = () => Object.assign(duplicate(), { status: 'wait' })
  const other = redisSessions(lazy).open('shop')
  await other.watch({ ended() {}, caughtUp() {}, lost() {} })
  t.equal(lazy.duplicates[0]?.status, 'connecting', 'with lazyConnect it is told to connect')
  await other.close()
})
