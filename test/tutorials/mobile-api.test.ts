// Follows both parts of the tutorial.
import t from 'tap'
import { unlessFound } from '../helpers/programs.js'
import { follow } from '../helpers/tutorial.js'

t.test(
  'following docs/start/mobile-api.md gives an app that answers as the page says',
  { skip: unlessFound('curl') },
  async (t) => {
    await follow(t, ['docs/start/mobile-api.md', 'docs/start/mobile-client.md'])
  },
)
