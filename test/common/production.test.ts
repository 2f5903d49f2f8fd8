import t from 'tap'
import { isProduction } from '../../lib/common/production.js'
import { setNodeEnv } from '../helpers/environment.js'

t.test('every spelling of production counts as production, and other values do not', async (t) => {
  setNodeEnv(t, 'Prod')
  t.ok(isProduction(), 'that of the process')
  for (const name of ['production', 'Production', 'PRODUCTION', 'prod', ' production\r\n']) {
    t.ok(isProduction({ NODE_ENV: name }), JSON.stringify(name))
  }
  for (const name of ['', 'test', 'development', 'pre-production', 'nonprod', 'products']) {
    t.notOk(isProduction({ NODE_ENV: name }), JSON.stringify(name))
  }
  t.notOk(isProduction({}))
})
