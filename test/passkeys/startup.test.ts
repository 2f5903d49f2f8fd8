// Startup with the option `passkeys`, and what API documents say of its routes.
import { register } from 'node:module'
import swagger from '@fastify/swagger'
import Fastify from 'fastify'
import t, { type Test } from 'tap'
import { authn, type AuthnOptions } from '../../lib/index.js'
import { cost, secret } from '../helpers/app.js'
import { validated } from '../helpers/documents.js'
import { startupError } from '../helpers/flows.js'
import { origin, passkeysOver, type PasskeyUser } from '../helpers/passkeys.js'

const good = { origin, name: 'Shop', ...passkeysOver([]) }
const base = {
  userService: { findByUsername: () => null },
  jwt: { secret },
  hashing: { cost },
  login: { subject: (user: object) => (user as PasskeyUser).id },
  sessions: true,
}

function errorOf(t: Test, passkeys: unknown, more: object = {}, before?: string) {
  return startupError(async () => {
    const app = Fastify()
    t.teardown(() => app.close())
    if (before !== undefined) app.post(before, () => 'of the app')
    await app.register(authn, { ...base, passkeys, ...more } as AuthnOptions)
    await app.ready()
  })
}

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
  for (const [option, values] of Object.entries(bad)) {
    for (const value of values) {
      const error = await errorOf(t, { ...good, [option]: value })
      const title = `${option}: ${JSON.stringify(value)}`
      t.equal(error?.code, 'ERR_AUTH_OPTION', title)
      t.ok(error?.message.includes(`passkeys.${option}`), `${title}: ${error?.message}`)
    }
  }
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
  for (const [option, more] of Object.entries({
    sessions: { sessions: false },
    userService: { userService: undefined },
    'login.subject': { login: {} },
    login: { login: false },
  })) {
    const error = await errorOf(t, good, more)
    t.match(error, { code: 'ERR_AUTH_OPTION' }, option)
    t.ok(error?.message.includes(`needs the option "${option}"`), String(error?.message))
  }
  const taken = await errorOf(t, good, {}, '/passkeys')
  t.match(taken, { code: 'ERR_AUTH_OPTION', message: /POST \/passkeys is already declared/ })
})

t.test('API documents have the routes', async (t) => {
  const documented = Fastify()
  t.teardown(() => documented.close())
  await documented.register(swagger, { openapi: { info: { title: 'Shop', version: '1' } } })
  const routeOptions = { schema: { tags: ['keys'] } }
  const passkeys = { ...good, routeOptions }
  await documented.register(authn, { ...base, passkeys } as AuthnOptions)
  await documented.ready()
  const document = documented.swagger() as unknown as {
    paths: Record<
      string,
      Record<string, { tags: string[]; responses: object; security?: object[] }>
    >
  }
  const checked = await validated(document)
  t.strictSame(checked.result, { valid: true })
  const operations = Object.entries(document.paths)
    .filter(([path]) => path.includes('passkey'))
    .flatMap(([path, methods]) =>
      Object.entries(methods).map(([method, { tags, responses, security }]) => {
        const [first] = security ?? [{}]
        const access =
          security === undefined
            ? 'open'
            : Object.keys(first ?? {}).length === 0
              ? 'either'
              : 'session'
        t.strictSame(tags, ['keys'])
        return `${method} ${path} ${access} ${Object.keys(responses).join()}`
      }),
    )
  t.strictSame(operations, [
    'post /login/passkey/options either 200,400,429,503',
    'post /login/passkey open 200,400,401,403,429,503',
    'post /passkeys/options session 200,400,401,403,429,503',
    'post /passkeys session 201,400,401,403,429,503',
    'get /passkeys session 200,400,401,403,429,503',
    'post /passkeys/rename session 204,400,401,403,429,503',
    'post /passkeys/remove session 204,400,401,403,409,429,503',
  ])
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
