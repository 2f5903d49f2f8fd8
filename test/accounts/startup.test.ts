// Startup with the option `accounts`, and what API documents say of its routes.
import Fastify from 'fastify'
import t from 'tap'
import { authn, type AuthnOptions } from '../../lib/index.js'
import { accountsApp, accountsOver, pages, type AccountUser } from '../helpers/accounts.js'
import { base, everyOptionIsNamed, failureWith, needs } from '../helpers/options.js'

const { findByUsername: _, ...functions } = accountsOver([])
const good = { url: pages, ...functions, sendMail: () => undefined }
const errorOf = failureWith('accounts')

const bad: Record<string, unknown[]> = {
  url: [
    undefined,
    null,
    7,
    '',
    '/account',
    'shop.example/account',
    'http://shop.example/account',
    'http://127.0.0.1.example/',
    'ftp://shop.example',
    'javascript:alert(1)',
    `${pages}?tenant=1`,
    `${pages}?`,
    `${pages}#page`,
    'https://user:password@shop.example/account',
    ` ${pages}`,
  ],
  create: [undefined, null, true, {}],
  update: [undefined, null, 'update'],
  sendMail: [undefined, null, {}],
  remove: [null, true, {}],
  acceptPassword: [null, true],
  signUp: [null, 'no', 0],
  minPasswordLength: [7, 65, 15.5, '15', null, Number.NaN],
  emailField: [null, '', 7],
  linkExpiry: [299, 86_401, 300.5, '3600', null, Number.NaN],
  limits: [null, 3, [], { perUser: 3 }],
  'limits.perRecipient': [0, -1, 1.5, '3', null, Infinity],
  'limits.perAddress': [0, -1, 1.5, '3', null],
  'limits.window': [0, -1, 1.5, '3', null, 31_536_001],
  routeOptions: [null, true, 'hooks'],
}

t.test('startup fails for a wrong option of accounts, and the error names it', async (t) => {
  const start = (given: object) => errorOf(t, given)
  await everyOptionIsNamed(t, 'accounts', start, good, bad, ['password@'])
  for (const accounts of [null, true, 'on', [], () => good, { ...good, sendmail: good.sendMail }])
    t.match(await errorOf(t, accounts), { code: 'ERR_AUTH_OPTION', message: /accounts/ })
})

t.test('startup succeeds at the limits of the options', async (t) => {
  const rows: object[] = [
    ...['http://127.0.0.1:3000', 'http://[::1]/a', 'http://localhost', `${pages}//`].map((url) => ({
      url,
    })),
    ...[8, 64].map((minPasswordLength) => ({ minPasswordLength })),
    ...[300, 86_400].map((linkExpiry) => ({ linkExpiry })),
    { limits: { perRecipient: 1, perAddress: 1_000_000, window: 1 } },
    { limits: {}, routeOptions: {}, remove: undefined, acceptPassword: undefined },
  ]
  for (const row of rows)
    t.equal(await errorOf(t, { ...good, ...row }), undefined, JSON.stringify(row))
  t.equal(await errorOf(t, undefined), undefined)
})

t.test('startup fails without what accounts need', async (t) => {
  await needs(t, 'accounts', (more) => errorOf(t, good, more))
})

t.test('startup fails where a path is taken', async (t) => {
  for (const path of ['/sign-up', '/password/reset', '/account/delete']) {
    const error = await errorOf(t, good, {}, path)
    t.match(error, { code: 'ERR_AUTH_OPTION', message: path })
    t.match(error?.message, /"accounts".*login/)
  }
  t.equal(await errorOf(t, { ...good, signUp: false }, {}, '/sign-up'), undefined)
  t.equal(await errorOf(t, { ...good, remove: undefined }, {}, '/account/delete'), undefined)
})

t.test('the functions of the option are called on its object', async (t) => {
  const rows: AccountUser[] = []
  const sent: { token?: string }[] = []
  class Table {
    url = pages
    readonly #rows = rows
    readonly #sent = sent
    create(account: { email: string; passwordHash: string }): number {
      return this.#rows.push({ id: 1, email: account.email, password: account.passwordHash })
    }
    update(): boolean {
      return this.#rows.length > 0
    }
    sendMail(mail: object): void {
      this.#sent.push(mail)
    }
    acceptPassword(): boolean {
      return this.#rows.length < 9
    }
    remove(): void {
      this.#rows.pop()
    }
  }
  const service = {
    findByUsername: (name: string | number) =>
      rows.find(({ id, email }) => id === name || email === name),
  }
  const options = { userService: service, accounts: new Table() } as object
  const { app, send, logIn } = await accountsApp(t, {}, options)
  await send('/sign-up', { email: 'dora@example.com' })
  await app.authn.accounts.settled()
  const [mail] = sent
  const password = 'correct horse battery'
  t.equal(await send('/sign-up/finish', { token: mail?.token, password }), '200 tokens')
  const own = { currentPassword: password, password }
  t.equal(await send('/password/change', own, await logIn()), '200 tokens')
  t.equal(await send('/account/delete', own, await logIn()), '204')
  t.strictSame(rows, [])
})

t.test('an authenticator can read the stats of accounts in its init()', async (t) => {
  const app = Fastify()
  t.teardown(() => app.close())
  let stats: unknown
  await app.register(authn, {
    ...base,
    accounts: good,
    authenticators: {
      own: {
        async init(scope) {
          stats = scope.authn.stats().accounts
          await scope.authn.accounts.settled()
        },
        authenticate: () => null,
      },
    },
  } as AuthnOptions)
  t.strictSame(stats, { created: 0, mails: 0, mailsFailed: 0 })
})
