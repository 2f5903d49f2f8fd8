import t from 'tap'
import { isProduction } from '../../lib/common/production.js'

t.test('every spelling of production counts', async (t) => {
  for (const name of [
    'production',
    'Production',
    'PRODUCTION',
    'prod',
    'Prod',
    ' production\r\n',
  ]) {
    t.ok(isProduction({ NODE_ENV: name }), JSON.stringify(name))
  }
})

t.test('other names do not', async (t) => {
  for (const name of ['', 'test', 'development', 'pre-production', 'nonprod', 'products']) {
    t.notOk(isProduction({ NODE_ENV: name }), JSON.stringify(name))
  }
  t.notOk(isProduction({}))
})

t.test('it is the environment of the process unless another is given', async (t) => {
  const { NODE_ENV } = process.env
  t.teardown(() => {
    if (NODE_ENV === undefined) delete process.env.NODE_ENV
    else process.env.NODE_ENV = NODE_ENV
  })
  process.env.NODE_ENV = 'Prod'
  t.ok(isProduction())
  process.env.NODE_ENV = 'test'
  t.notOk(isProduction())
})
