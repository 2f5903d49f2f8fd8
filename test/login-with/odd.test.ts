import { randomBytes } from 'node:crypto'
import { array, asyncProperty, assert, constantFrom, oneof, string, tuple } from 'fast-check'
import t from 'tap'
import { anyCharacter, bounded } from '../helpers/cases.js'
import { linesOf } from '../helpers/cookies.js'
import { linkApp, tokenOf } from '../helpers/link-app.js'
import { startProvider } from '../helpers/provider.js'

const odd = oneof(
  string({ unit: anyCharacter }),
  constantFrom('', '%', '%00', '%ff', '\\', '//', '../', '[]', '__proto__', 'a'.repeat(5000)),
)
// Without `code`: one beside a good state is sent, as it should be.
const known = 'state iss error response id_token returnTo Code state[] code[0]'.split(' ')
const names = oneof(constantFrom(...known), odd)

t.test(
  'odd requests to the routes of a provider give no 5xx, and send nothing there',
  async (t) => {
    const provider = await startProvider(t)
    const { enter, beginLink, begin, get, lines } = await linkApp(
      t,
      provider,
      {},
      { throttle: false },
    )
    const { sent, cookie } = await begin()
    const { attempt, sent: ofLink } = await beginLink(await enter())
    const good = { state: String(sent.get('state')), cookie, value: cookie.replace(/^.*?=/, '') }
    const name = cookie.replace(/=.*/, '')
    const values = oneof(
      odd,
      constantFrom(
        good.state,
        good.state.slice(0, 42),
        String(ofLink.get('state')),
        `${good.state}\n`,
        randomBytes(32).toString('base64url'),
      ),
    )
    const cookies = oneof(
      constantFrom(
        '',
        cookie,
        `${cookie}; ${cookie}`,
        name,
        `${name}=`,
        `${name}=...`,
        `${name}=.9999999999..`,
        good.value,
      ),
      string().map((text) => `${name}=${text}`),
      string().map((text) => `${cookie}${text}`),
      string().map((text) => `${cookie}.${tokenOf(attempt)}${text}`),
      string().map((text) => `${attempt}${text}`),
    )
    const pairs = array(tuple(names, values, constantFrom('encoded', 'raw')), { maxLength: 5 })
    const property = asyncProperty(
      constantFrom('', '/callback'),
      pairs,
      cookies,
      async (path, parameters, jar) => {
        const query = parameters.map(([key, value, form]) =>
          form === 'raw'
            ? `${key}=${value}`.replace(/[^\x21-\x7e]|#/g, '')
            : new URLSearchParams([[key, value]]).toString(),
        )
        const response = await get(
          `/login/corp${path}?${query.join('&')}`,
          jar.replace(/[^\x20-\x7e]/g, ''),
        )
        const { statusCode, headers } = response
        const statuses = path === '' ? [303, 400] : [400, 401]
        if (!statuses.includes(statusCode)) throw new Error(`${statusCode}: ${response.body}`)
        if (statusCode === 303 && !headers.location?.toString().startsWith(provider.url))
          throw new Error('led away')
        if (path !== '' && linesOf(response).some((line) => !line.includes('Max-Age=0')))
          throw new Error('a cookie')
        lines.length = 0
      },
    )
    provider.take()
    await assert(property, bounded(2000))
    t.strictSame(provider.take(), [])
  },
)
