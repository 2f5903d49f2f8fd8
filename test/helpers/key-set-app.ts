import bcrypt from 'bcrypt'
import Fastify from 'fastify'
import { authn } from '../../lib/index.js'
import { userService } from './app.js'
import { nameOf } from './flows.js'
import { serve } from './processes.js'

/**
 * A process of an app whose keys rotate: started by tokens/rotation.test.ts, which it tells its port. It ends when its
 * parent lets go of it.
 */
async function main(): Promise<void> {
  const app = Fastify({ forceCloseConnections: true })
  const password = bcrypt.hashSync('password of alice', 4)
  await app.register(authn, {
    userService: userService([{ id: 1, name: 'alice', password }]),
    jwt: {
      keys: String(process.env.TEST_KEY_SET),
      reloadEvery: Number(process.env.TEST_RELOAD_EVERY),
      publish: true,
    },
    hashing: { cost: 4 },
  })
  app.get('/me', { config: { auth: true } }, nameOf)
  app.get('/stats', () => app.authn.stats())
  app.post('/reload', async () => {
    await app.jwtService.reload()
    return 'ok'
  })
  await serve(app, () => app.close())
}

void main()
