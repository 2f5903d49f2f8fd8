// `factorAttacks` against apps that are fine, and against each mistake of an app that it has to find.
import * as Type from '@sinclair/typebox/type'
import t, { type Test } from 'tap'
import { rejection } from '../../lib/errors/errors.js'
import type { Registration } from '../../lib/feature.js'
import type { PasskeysOptions } from '../../lib/index.js'
import { declarePluginRoute } from '../../lib/login/plugin-routes.js'
import { registrationOf } from '../../lib/request/registration.js'
import { authnTesting, factorAttacks, type AttackReport } from '../../lib/testing/index.js'
import { password } from '../helpers/accounts.js'
import type { TestApp } from '../helpers/app.js'
import {
  browser,
  origin,
  passkeysOver,
  type Asked,
  type StoredPasskey,
} from '../helpers/passkeys.js'
import {
  email,
  factorApp,
  factorsOver,
  type Enabled,
  type FactorUser,
} from '../helpers/second-factor.js'

const login = { email, password }

type Update = (user: FactorUser, after: string | null, before: string | null) => Promise<boolean>

interface Broken {
  /** Gets what stores properly. */
  update?: (proper: Update, table: FactorUser[]) => Update
  find?: (row: FactorUser | undefined, name: string | number) => unknown
}

async function attacked(
  t: Test,
  { update: broken, find }: Broken,
  options: object = {},
  declare: (app: TestApp) => unknown = () => undefined,
) {
  const table: FactorUser[] = []
  const { findByUsername, update } = factorsOver(table)
  let isBroken = false
  const given = broken?.(update, table)
  const setting = await factorApp(
    t,
    { remember: 86_400, update: (...all) => (isBroken && given ? given(...all) : update(...all)) },
    {
      userService: {
        async findByUsername(name: string | number) {
          const row = await findByUsername(name)
          return isBroken && find ? find(row, name) : row
        },
      },
      ...options,
    },
    (app) => {
      declare(app)
      return app.register(authnTesting)
    },
  )
  const rows = setting.table.map((row) => ({ ...row }))
  table.push(...rows)
  const enabled = await setting.enable()
  isBroken = true
  return { ...setting, enabled, rows: table }
}

const attack = async ({ app, enabled }: { app: never; enabled: Enabled }): Promise<AttackReport> =>
  factorAttacks(app, { login, code: () => enabled.recoveryCodes.pop() })

t.test('an app that is fine', async (t) => {
  const report = await attack((await attacked(t, {}, { cookies: true })) as never)
  t.strictSame(report.problems, [])
  t.ok(report.cases > 35, `${report.cases}`)
  t.strictSame(report.leftOut, ['a reset in between: no option "accounts"'])
})

t.test('without cookies, and with a reset in between', async (t) => {
  const rows: FactorUser[] = []
  const accounts = {
    url: 'https://shop.example',
    create: () => false,
    sendMail: () => undefined,
    update: ({ id }: FactorUser, after: { passwordHash: string | null }) => {
      const row = rows.find((each) => each.id === id) as FactorUser
      row.password = after.passwordHash
      return true
    },
  }
  const { findByUsername, update } = factorsOver(rows)
  const setting = await factorApp(
    t,
    { update },
    { accounts, userService: { findByUsername } },
    (app) => app.register(authnTesting),
  )
  rows.push(...setting.table)
  const enabled = await setting.enable()
  const report = await attack({ ...setting, enabled } as never)
  t.strictSame(report.problems, [])
  t.strictSame(report.leftOut, ['a remembered device: no "remember"'])
})

const mistakes: Record<string, Broken> = {
  'an update that does not compare': {
    update:
      (_, table) =>
      async ({ id }, after) => {
        const row = table.find((each) => each.id === id)
        if (row) row.secondFactor = after
        return true
      },
  },
  'an update that does not store': { update: () => async () => true },
  'an update that never succeeds': { update: () => async () => false },
  'an update that fails': {
    update: () => async () => {
      throw new Error('the database')
    },
  },
  'a look-up by name without the field': {
    find: (row, name) => (name === email && row ? { ...row, secondFactor: undefined } : row),
  },
  'a look-up by id without the field': {
    find: (row, name) => (name === email || !row ? row : { ...row, secondFactor: undefined }),
  },
  'a look-up that says that there is none': {
    find: (row) => row && { ...row, secondFactor: null },
  },
}

for (const [name, broken] of Object.entries(mistakes)) {
  t.test(`${name} is found`, async (t) => {
    const setting = await attacked(t, broken, { cookies: true })
    const report = await attack(setting as never)
    t.not(report.problems.length, 0, String(report))
    t.throws(() => report.assert())
  })
}

/** What the login of another feature does with a body. */
const logins: Record<string, [work: (body: Body) => object, found: RegExp | null]> = {
  'a login that rejects what is wrong': [() => rejection('auth.invalid-credentials'), null],
  'a login that takes any token': [() => ({ token: 'a' }), /half a login at \/login\/new/],
  'a login that takes guesses': [
    ({ token }) => (/^[\w-]{43}$/.test(String(token)) ? {} : rejection('auth.forbidden')),
    /guess at \/login\/new/,
  ],
  'a login that fails with other kinds': [
    ({ token }) => new Error(String((token as string).toLowerCase())),
    /null for each member at \/login\/new/,
  ],
}
type Body = { token: unknown }

for (const [name, [work, found]] of Object.entries(logins)) {
  t.test(`${name}, of a feature that is not known`, async (t) => {
    const schema = Type.Object({ token: Type.Any() })
    const route = { path: '/login/new', kind: 'new', option: 'new', ifTaken: '' }
    const setting = await attacked(t, {}, { cookies: true }, (app) =>
      declarePluginRoute(registrationOf(app) as Registration, {
        ...route,
        method: 'POST',
        givesTokens: true,
        body: { schema, read: (body) => body },
        work(request, reply) {
          const result = work(request.body as Body)
          if (result instanceof Error) throw result
          return reply.send(result)
        },
      }),
    )
    const { problems } = await attack(setting as never)
    const names = problems.map((problem) => problem.case)
    if (found === null) t.strictSame(names, [])
    else
      t.ok(
        names.some((each) => found.test(each)),
        names.join(),
      )
  })
}

/** An app whose user has a passkey too. */
async function withPasskey(t: Test, broken: Partial<PasskeysOptions> = {}) {
  const table: StoredPasskey[] = []
  const passkeys = { origin, name: 'Shop', ...passkeysOver(table), ...broken }
  const setting = await attacked(t, {}, { cookies: true, passkeys })
  const { headers, recoveryCodes } = setting.enabled
  const passkey = browser()
  const { token, publicKey } = JSON.parse(
    (await setting.post('/passkeys/options', {}, headers)).body,
  ) as Asked
  await setting.post('/passkeys', { token, response: passkey.create(publicKey) }, headers)
  return factorAttacks(setting.app, { login, code: () => recoveryCodes.pop(), passkey })
}

t.test('a passkey', async (t) => {
  const report = await withPasskey(t)
  t.strictSame(report.problems, [])
  const { cases } = await attack((await attacked(t, {}, { cookies: true })) as never)
  t.ok(report.cases > cases, `${report.cases}`)
})

const ofPasskeys: Record<string, Partial<PasskeysOptions>> = {
  'an update of passkeys that does not store': { update: () => true },
  'an update of passkeys that never succeeds': { update: () => false },
  'a list of passkeys that is empty': { list: () => [] },
}
for (const [name, broken] of Object.entries(ofPasskeys)) {
  t.test(`${name} is found`, async (t) => {
    const { problems } = await withPasskey(t, broken)
    t.match(problems, [{ case: /passkey|response/ }])
  })
}

t.test('codes of an app, which have to wait after guesses', async (t) => {
  const setting = await attacked(t, {}, { cookies: true })
  const { recoveryCodes } = setting.enabled
  const codes = [...recoveryCodes.slice(0, 1), '000000']
  const report = await factorAttacks(setting.app, { login, code: () => codes.shift() })
  t.match(report.leftOut, [/accounts/, /has to wait/])
})

t.test('a wrong code, and an app without the option', async (t) => {
  const setting = await attacked(t, {}, { cookies: true })
  const report = await factorAttacks(setting.app, { login, code: () => 'aaaa-aaaa-aaaa-aaaa' })
  t.match(report.problems, [{ case: 'a right code', status: 403 }])
  const other = await factorApp(t, {}, { secondFactor: undefined, sessions: { mfa: true } })
  await t.rejects(factorAttacks(other.app, { login, code: () => '' }), { code: 'ERR_AUTH_TESTING' })
})
