// The Redis store without a server.
import { EventEmitter } from 'node:events'
import t from 'tap'
import { redisSessions } from '../../../lib/sessions/stores/redis.js'
import { settle, until } from '../../helpers/load.js'

const options = { prefix: 'app' }

type Answer = (script: string, values: readonly string[]) => unknown

/** A client as ioredis makes it, whose server answers with what the test says. */
class FakeClient extends EventEmitter {
  status = 'ready'
  options: { keyPrefix?: string } = {}
  readonly sent: string[][] = []
  readonly duplicates: FakeSubscriber[] = []
  readonly #answer: Answer
  readonly #known = new Set<string>()

  constructor(answer: Answer = () => ['1', []]) {
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

t.test('redisSessions() throws for wrong clients and wrong prefixes', async (t) => {
  const client = new FakeClient()
  const code = 'ERR_AUTH_OPTION'
  for (const wrong of [undefined, null, {}, { evalSha() {}, eval() {}, duplicate() {} }]) {
    t.throws(() => redisSessions(wrong as never, options), { code, message: /client of ioredis/ })
  }
  for (const wrong of [undefined, null]) {
    t.throws(() => redisSessions(client, wrong as never), { code, message: /prefix: 'shop'/ })
  }
  for (const prefix of [undefined, '', 'a b', '{a}', 'x'.repeat(65), 1, null]) {
    const given = { prefix: prefix as string }
    t.throws(() => redisSessions(client, given), { code, message: /1 to 64 letters/ })
  }
  const prefix = 'a.b:c-d_1'
  t.match(redisSessions(client, { prefix }), { prefix, isLocal: false })
})

t.test('a Redis client that has lost its connection gets no command to queue', async (t) => {
  const client = new FakeClient(() => [])
  const store = redisSessions(client, options).open('shop')
  for (const status of ['reconnecting', 'close', 'end']) {
    client.status = status
    await t.rejects(store.list('a'), new RegExp(`not ready, but ${status}`))
  }
  t.strictSame(client.sent, [])
  client.status = 'connecting'
  t.strictSame(await store.list('a'), [], 'before its first connection it waits by itself')
  t.equal(client.sent[0]?.[1], '{app:shop}', 'all keys are in one slot')
})

t.test('a message of Redis causes a poll, and an error of its connection nothing', async (t) => {
  const client = new FakeClient(() => ['1', ['9:a']])
  client.options = { keyPrefix: 'app:' }
  const told: string[] = []
  const store = redisSessions(client, options).open('shop')
  store.watch({
    revoked: (list) => told.push(...list.map(({ sid }) => sid)),
    caughtUp: () => undefined,
    lost: () => undefined,
  })
  const [subscriber] = client.duplicates as [FakeSubscriber]
  subscriber.emit('error', new Error('does not end the process'))
  await until(() => told.length === 1, 'what was revoked is told')
  subscriber.become('ready')
  const channel = 'app:{app:shop}:revoked'
  t.strictSame(subscriber.channels, [channel, channel])
  await until(() => told.length === 2, 'after the subscription it is asked for once more')
  subscriber.emit('message')
  await until(() => told.length === 3, 'and after a message')
  subscriber.works = false
  subscriber.become('ready')
  await settle()
  await store.close()
  t.strictSame([told.length, subscriber.status, client.status], [3, 'end', 'ready'])
  await store.close()
})
