import swagger from '@fastify/swagger'
import t from 'tap'
import { authn } from '../../lib/index.js'
import { fastify, standardOptions } from '../helpers/app.js'

t.test(
  'documents have a 403 for pages of other sites where cookies can change something',
  async (t) => {
    const app = fastify(t)
    await app.register(swagger, { openapi: {} })
    await app.register(authn, { ...standardOptions(), cookies: true })
    for (const method of ['GET', 'POST'] as const) {
      app.route({ method, url: '/jwt', config: { auth: true }, handler: () => 'in' })
      app.route({ method, url: '/basic', config: { auth: { use: 'basic' } }, handler: () => 'in' })
    }
    app.post('/open', () => 'in')
    await app.ready()
    type Documented = { paths: Record<string, Record<string, { responses: object }>> }
    const { paths } = JSON.parse(JSON.stringify(app.swagger())) as Documented
    const found = Object.entries(paths).flatMap(([path, methods]) =>
      Object.entries(methods)
        .filter(([, { responses }]) => '403' in responses)
        .map(([method]) => `${method} ${path}`),
    )
    t.strictSame(found.toSorted(), ['post /basic', 'post /jwt', 'post /login'])
  },
)
