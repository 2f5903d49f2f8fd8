import fp from 'fastify-plugin'
import t from 'tap'
import { nameOfPlugin, propertyOfPlugin } from '../lib/plugin-names.js'

t.test('plugins, modules that export one, and what is none', async (t) => {
  const plugin = fp(async () => undefined, { name: 'theirs' })
  t.equal(nameOfPlugin(plugin), 'theirs')
  t.equal(nameOfPlugin({ default: plugin }), 'theirs')
  t.equal(propertyOfPlugin({ default: plugin }, Symbol.for('skip-override')), true)
  for (const other of [async () => undefined, {}, null, undefined, 'text', 1]) {
    t.equal(nameOfPlugin(other), undefined, typeof other)
  }
})
