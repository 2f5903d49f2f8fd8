import { once } from 'node:events'
import type { Socket } from 'node:net'
import t from 'tap'
import { memoryApiKeys } from '../../lib/api-keys/index.js'
import { newKey } from '../../lib/api-keys/key.js'
import type { ApiKeyStore } from '../../lib/index.js'
import { bearer } from '../helpers/app.js'
import { job, keyApp, keyOptions, prefix, storeWith } from '../helpers/api-keys.js'
import { settle, until } from '../helpers/load.js'
import { rawRequest, vanish } from '../helpers/raw-socket.js'

t.test('good keys and other clients are served during a flood of forged keys', async (t) => {
  const memory = memoryApiKeys({ prefix: 'shop' }).open('default')
  const held: (() => void)[] = []
  const asked: string[] = []
  const find: ApiKeyStore['find'] = async (id) => {
    asked.push(id)
    const found = await memory.find(id)
    if (found === null) await new Promise<void>((resolve) => held.push(resolve))
    return found
  }
  const options = keyOptions({ store: storeWith({ find }, memory) })
  const { app, keys, issued, get } = await keyApp(t, options)
  const port = Number(new URL(await app.listen({ host: '127.0.0.1', port: 0 })).port)
  const flood = Array.from({ length: 10_000 }, () =>
    rawRequest('/apiKey', [`Authorization: Bearer ${newKey(prefix, job).issued.key}`]),
  ).join('')
  const connected = once(app.server, 'connection') as Promise<[Socket]>
  let leave = (): void => undefined
  const left = vanish(port, flood, new Promise((resolve) => (leave = resolve)))
  await until(() => held.length === 16, 'the store is asked')

  const other = await app.inject({
    url: '/apiKey',
    headers: bearer(issued.key),
    remoteAddress: '127.0.0.2',
  })
  t.equal(other.statusCode, 200, 'another client is served')
  t.equal((await get('/apiKey', bearer(issued.key))).status, 200, 'so is a cached key')
  const second = await keys.issue(job)
  leave()
  await left
  const [connection] = await connected
  await until(() => connection.destroyed, 'the server knows')
  const waiting = get('/apiKey', bearer(second.key))
  await settle(20)
  while (held.length > 0) {
    held.shift()?.()
    await settle(2)
  }
  t.equal((await waiting).status, 200, 'a good key of the same address is late, not locked out')
  const good = new Set([issued.id, second.id])
  t.equal(asked.filter((id) => !good.has(id)).length, 16, 'no more after the client has left')
})
