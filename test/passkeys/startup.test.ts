// Startup with the option `passkeys`, and what API documents say of its routes.
import { register } from 'node:module'
import t from 'tap'
import { everyOptionIsNamed, failureWith, needs } from '../helpers/options.js'
import { origin, passkeysOver } from '../helpers/passkeys.js'

const good = { origin, name: 'Shop', ...passkeysOver([]) }
const errorOf = failureWith('passkeys')

const app = `android:apk-key-hash:${'x'.repeat(43)}`
const bad: Record<string, unknown[]> = {
  origin: [
    undefined,
    null,
    7,
    '',
    [],
    [origin, 'shop.example'],
    'shop.example',
    `${origin}/`,
    `${origin}:443`,
    'https://Shop.example',
    'https://*.shop.example',
    'http://shop.example',
    'http://localhost.example',
    'http://127.0.0.1:3000',
    'ftp://shop.example',
    'capacitor://localhost',
    'android:apk-key-hash:x',
    `${app}=`,
    'null',
  ],
  name: [undefined, null, '', ' ', 7],
  list: [undefined, null, []],
  add: [undefined, null, 'add'],
  update: [undefined, null, true],
  remove: [undefined, null, {}],
  rpId: [
    null,
    '',
    7,
    origin,
    'shop.example:443',
    'Shop.example',
    'evil.example',
    'op.example',
    'a.shop.example',
    'shop.example/',
    'shop example',
    'example',
  ],
  username: [null, 'id', {}],
  accountField: [null, '', 7],
  most: [0, 101, 1.5, '20', null, Number.NaN],
  routeOptions: [null, true, 'hooks'],
}

t.test('startup fails for a wrong option of passkeys, and the error names it', async (t) => {
  await everyOptionIsNamed(t, 'passkeys', (given) => errorOf(t, given), good, bad)
  for (const passkeys of [null, true, [], { ...good, RPID: 'shop.example' }])
    t.match(await errorOf(t, passkeys), { code: 'ERR_AUTH_OPTION', message: /passkeys/ })
  t.match(await errorOf(t, { ...good, origin: app }), { message: /passkeys\.rpId.*nothing/ })
  for (const rpId of ['shop.example:443', 'Shop.example', 'https://shop.example', '192.0.2.1'])
    t.match(await errorOf(t, { ...good, origin: app, rpId }), { message: /passkeys\.rpId/ }, rpId)
  const address = { origin: 'https://192.0.2.1' }
  t.match(await errorOf(t, { ...good, ...address }), { message: /passkeys\.rpId/ })
})

t.test('an error names the spelling of browsers', async (t) => {
  const domain = 'xn--mller-kva.example'
  for (const [passkeys, meant] of [
    [{ origin: 'https://müller.example' }, `"https://${domain}"`],
    [{ origin: 'https://Shop.example/' }, '"https://shop.example"'],
    [{ origin: `https://${domain}`, rpId: 'müller.example' }, `"${domain}"`],
  ] as const) {
    const { message = '' } = (await errorOf(t, { ...good, ...passkeys })) ?? {}
    t.ok(message.includes(meant), message)
  }
  t.equal(await errorOf(t, { ...good, origin: `https://${domain}` }), undefined)
})

t.test('a domain that nobody can register is none for passkeys', async (t) => {
  for (const [rpId, from] of [
    ['uk', 'https://shop.co.uk'],
    ['co.uk', 'https://shop.co.uk'],
    ['com.au', 'https://a.shop.com.au'],
    ['xn--p1ai', 'https://xn--e1afmkfd.xn--p1ai'],
    ['example', app],
  ] as const)
    t.match(await errorOf(t, { ...good, origin: from, rpId }), { message: /passkeys\.rpId/ }, rpId)
})

t.test('origins and domains that are right', async (t) => {
  for (const more of [
    { rpId: 'shop.example', origin: ['https://a.shop.example', 'https://shop.de', app] },
    { rpId: 'shop.example', origin: app },
    { origin: 'https://shop.example:8443' },
    { origin: 'http://localhost:3000' },
    { origin: 'http://localhost' },
    { origin: 'http://localhost', rpId: 'localhost' },
    { origin: 'https://intranet' },
    { origin: 'https://a.shop.co.uk', rpId: 'shop.co.uk' },
  ])
    t.equal(await errorOf(t, { ...good, ...more }), undefined, JSON.stringify(more))
})

t.test('startup fails without what passkeys need, and says what to set', async (t) => {
  await needs(t, 'passkeys', (more) => errorOf(t, good, more))
  const taken = await errorOf(t, good, {}, '/passkeys')
  t.match(taken, { code: 'ERR_AUTH_OPTION', message: /POST \/passkeys is already declared/ })
})

/** Of modules: the package is missing at first, then too old, then itself. */
const hooks = `
  const found = [
    async () => { throw new Error('missing') },
    async () => ({ url: 'data:text/javascript,export class MetadataService {}', shortCircuit: true }),
  ]
  export const resolve = (name, context, next) =>
    name === '@simplewebauthn/server' && found.length > 0 ? found.shift()() : next(name, context)`

t.test('startup says what to install where the package is missing or too old', async (t) => {
  register(`data:text/javascript,${encodeURIComponent(hooks)}`)
  const message = /npm install @simplewebauthn\/server@14/
  for (const what of ['missing', 'too old'])
    t.match(await errorOf(t, good), { code: 'ERR_AUTH_OPTION', message }, what)
  t.equal(await errorOf(t, good), undefined)
})
