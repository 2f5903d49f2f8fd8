// Follows both parts of the tutorial.
import t from 'tap'
import { unlessFound } from '../helpers/programs.js'
import { follow } from '../helpers/tutorial.js'

t.test(
  'following docs/start/api-keys.md gives an app that answers as the page says',
  { skip: unlessFound('curl') },
  async (t) => {
    await follow(t, ['docs/start/api-keys.md', 'docs/start/api-keys-deploy.md'])
  },
)
