import t from 'tap'
import { isProduction } from '../../lib/common/production.js'
import { setNodeEnv } from '../helpers/environment.js'

t.test('every spelling of production counts as production', async (t) => {
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

t.test('other values of NODE_ENV do not count as production', async (t) => {
  for (const name of ['', 'test', 'development', 'pre-production', 'nonprod', 'products']) {
    t.notOk(isProduction({ NODE_ENV: name }), JSON.stringify(name))
  }
  t.notOk(isProduction({}))
})

t.test('NODE_ENV of the process is the default', async (t) => {
  setNodeEnv(t, 'Prod')
  t.ok(isProduction())
  process.env.NODE_ENV = 'test'
  t.notOk(isProduction())
})
