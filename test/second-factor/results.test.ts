// What `update` resolves to: the result of the statement itself, and a yes for what it has not stored.
import t from 'tap'
import { openEmbedded } from '../../examples/demo/embedded.js'
import { hash } from '../helpers/accounts.js'
import { until } from '../helpers/load.js'
import {
  codeNow,
  email,
  factorApp,
  factorsOver,
  factorsTable,
  sqlFactors,
  wrongCode,
  type FactorUser,
} from '../helpers/second-factor.js'

const login = '/login/second-factor'
const fault = '500 ERR_AUTH_SECOND_FACTOR'
const statement =
  'update users set "secondFactor" = $1 where id = $2 and "secondFactor" is not distinct from $3'

t.test('the result of the statement counts as what it says', async (t) => {
  const database = await openEmbedded()
  t.teardown(() => database.close())
  await database.exec(factorsTable)
  await database.query('insert into users (email, password) values ($1, $2)', [email, hash])
  const { findByUsername } = sqlFactors((text, values) => database.query(text, values))
  const update = ({ id }: FactorUser, after: string | null, before: string | null) =>
    database.query(statement, [after, id, before])
  /** As `pg` returns it. */
  const asPg = async (...given: Parameters<typeof update>) => {
    const { rows, affectedRows } = await update(...given)
    return { command: 'UPDATE', rowCount: affectedRows, oid: null, rows, fields: [] }
  }
  for (const each of [update, asPg]) {
    const options = { userService: { findByUsername: findByUsername as never } }
    const { enable, half, send } = await factorApp(t, { update: each }, options)
    const { secret, recoveryCodes, headers } = await enable()
    for (const code of [codeNow(secret, 1), recoveryCodes[0]]) {
      const token = await half()
      const all = await Promise.all([1, 2, 3, 4, 5].map(() => send(login, { token, code })))
      t.equal(all.filter((sent) => sent === '200 tokens').length, 1, all.join())
    }
    const token = await half()
    const guess = { token, code: wrongCode(secret) }
    const all = await Promise.all(Array.from({ length: 20 }, () => send(login, guess)))
    t.ok(all.filter((sent) => sent.startsWith('403')).length <= 5, all.join())
    t.equal(await send('/second-factor/disable', undefined, headers), '204')
  }
})

t.test('recovery codes that were not stored are not shown, and the log says why', async (t) => {
  let isBroken = true
  const setting = await factorApp(t, {
    update: (...given) => isBroken || setting.store(...given),
  })
  const { enable, send, stored, lines, events, logIn } = setting
  const headers = await logIn()
  await t.rejects(enable(headers), { message: fault.slice(4) })
  t.strictSame([stored().secondFactor, events], [null, []])
  t.match(lines.join(''), /"level":50.*secondFactor\.update\(\).*not distinct from/)
  isBroken = false
  const on = await enable(headers)
  isBroken = true
  t.equal(await send('/second-factor/recovery-codes', undefined, on.headers), fault)
  isBroken = false
  t.match(await send('/second-factor/recovery-codes', undefined, on.headers), '200')
})

t.test('of two that are enabled at once by an update without a comparison, one is', async (t) => {
  let called = 0
  let release: () => void = () => undefined
  const areBothCalled = new Promise<void>((resolve) => (release = resolve))
  const setting = await factorApp(t, {
    async update({ id }, after) {
      called += 1
      if (called === 2) release()
      await areBothCalled
      setting.stored(id).secondFactor = after
      return true
    },
  })
  const { setUp, logIn, send } = setting
  const headers = await logIn()
  const setups = await Promise.all([setUp(headers), setUp(headers)])
  const all = await Promise.all(
    setups.map(({ body }) => send('/second-factor/enable', body, headers)),
  )
  t.ok(all.filter((sent) => sent.startsWith('200')).length <= 1, all.join())
})

t.test('a swap that is always lost is explained in the log', async (t) => {
  const { enable, lines } = await factorApp(t, {
    update: async (_user, after, before) => after !== null && before !== null,
  })
  await t.rejects(enable(), { message: 'ERR_AUTH_OVERLOADED' })
  t.match(lines.join(''), /secondFactor\.update\(\).*null.*is not distinct from/)
})

t.test('a login whose code another one gets in the way of is tried again', async (t) => {
  const waiting: (() => void)[] = []
  let isHeld = false
  const setting = await factorApp(t, {
    async update(...given) {
      // The first two are compared with the same text.
      if (isHeld) await new Promise<void>((resolve) => waiting.push(resolve))
      return factorsOver(setting.table).update(...given)
    },
  })
  const { enable, half, send } = setting
  const { secret } = await enable()
  const tokens = [await half(), await half()]
  isHeld = true
  const codes = [wrongCode(secret), codeNow(secret, 1)]
  const answers = tokens.map((token, at) => send(login, { token, code: codes[at] }))
  await until(() => waiting.length === 2, 'both store')
  isHeld = false
  for (const resolve of waiting) resolve()
  t.strictSame(await Promise.all(answers), ['403 ERR_AUTH_CODE_INVALID', '200 tokens'])
})
