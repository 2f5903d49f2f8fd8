// Each challenge works once, in any order, whatever the clocks of the processes show.
import t, { type Test } from 'tap'
import type { Passkey } from '../../lib/index.js'
import { answerOf } from '../helpers/accounts.js'
import { browser, passkeysApp, type PasskeysApp } from '../helpers/passkeys.js'

const invalid = '403 ERR_AUTH_PASSKEY_INVALID'

/** An app with a passkey, on a clock that a test sets. */
async function setUp(t: Test) {
  let ahead = 0
  const { now } = Date
  t.intercept(Date, 'now', { value: () => now() + ahead })
  const app = await passkeysApp(t)
  const passkey = browser()
  const early = await app.ask('/login/passkey/options')
  t.equal((await app.add(passkey, await app.logIn())).statusCode, 201)
  const enter = async (body: object) => answerOf(await app.post('/login/passkey', body))
  const answer = () => app.answer(passkey)
  const row = app.table[0] as PasskeysApp['table'][0]
  const clock = (seconds: number): void => void (ahead = seconds * 1000)
  return { app, passkey, early, enter, answer, row, clock }
}

t.test('two tabs, or two devices, log in whichever comes first', async (t) => {
  const { app, passkey, early, enter, answer } = await setUp(t)
  const asked = [await answer(), await answer(), await answer()] as const
  for (const body of [asked[1], asked[0], asked[2]]) t.equal(await enter(body), '200 tokens')
  for (const body of asked) t.equal(await enter(body), invalid, 'once')
  const older = { token: early.token, response: passkey.get(early.publicKey) }
  t.equal(await enter(older), '200 tokens', 'a page that is older than the passkey')
  t.equal(await enter(older), invalid)
  t.equal(app.table.length, 1)
})

t.test('a clock that was fast locks nobody out, and no response works twice', async (t) => {
  const { enter, answer, clock } = await setUp(t)
  const used: object[] = []
  for (const seconds of [5, 120, 500, 86_400, 0, 86_400, 3]) {
    clock(seconds)
    const there = await answer()
    t.equal(await enter(there), '200 tokens', `fast by ${seconds} s`)
    clock(0)
    const here = await answer()
    t.equal(await enter(here), '200 tokens', `right after ${seconds} s`)
    used.push(there, here)
    for (const body of used) t.match(await enter(body), /^40[13]/, 'once')
    clock(seconds)
    for (const body of used) t.match(await enter(body), /^40[13]/, 'once there')
    clock(0)
  }
})

t.test('what a fast clock has stored is kept until its time comes', async (t) => {
  const { enter, answer, row, clock } = await setUp(t)
  clock(86_400)
  const early = await Promise.all(Array.from({ length: 10 }, answer))
  for (const body of early) t.equal(await enter(body), '200 tokens')
  clock(0)
  for (let count = 0; count < 60; count += 1) t.equal(await enter(await answer()), '200 tokens')
  t.ok(JSON.stringify(row.data).length < 1800)
  const asked = await Promise.all(Array.from({ length: 30 }, answer))
  for (const body of asked.toReversed()) t.equal(await enter(body), '200 tokens', 'in any order')
  clock(86_400)
  for (const body of early) t.equal(await enter(body), invalid)
  t.equal(await enter(await answer()), '200 tokens')
})

t.test('what is stored is bounded, and stays right when it is full', async (t) => {
  const { enter, answer, row, clock } = await setUp(t)
  const used: object[] = []
  const early = await answer()
  const logIn = async (): Promise<void> => {
    const body = await answer()
    t.equal(await enter(body), '200 tokens')
    used.push(body)
  }
  for (let count = 0; count < 40; count += 1) await logIn()
  const full = JSON.stringify(row.data).length
  for (let count = 0; count < 20; count += 1) await logIn()
  t.equal(JSON.stringify(row.data).length, full)
  t.ok(full < 1500, String(full))
  for (const body of [...used, early]) t.equal(await enter(body), invalid)
  const [one, other] = [await answer(), await answer()]
  for (const body of [other, one]) t.equal(await enter(body), '200 tokens', 'two tabs')
  clock(86_400)
  for (let count = 0; count < 40; count += 1) await logIn()
  clock(0)
  await logIn()
  for (const body of used) t.match(await enter(body), /^40[13]/)
})

t.test('passkeys that the build before has stored', async (t) => {
  const { app, enter, answer, row } = await setUp(t)
  const before = (at: number): void => {
    const { used: _, handle: __, ...old } = row.data
    row.data = { ...old, at }
  }
  const [older, newer] = [await answer(), await answer()]
  before(Number.parseInt(newer.token, 10))
  for (const body of [older, newer]) t.equal(await enter(body), invalid, 'it was used')
  for (const at of [Date.now() * 1000 + 86_400e6, 0]) {
    before(at)
    const body = await answer()
    t.equal(await enter(body), '200 tokens')
    t.equal(await enter(body), invalid)
  }
  // A table with a column for each member of that build does not keep the challenges.
  before(0)
  const [first, second] = [await answer(), await answer()]
  t.equal(await enter(second), '200 tokens')
  before(row.data.at)
  for (const body of [first, second]) t.equal(await enter(body), invalid)
  row.data = { ...row.data, used: '["0"]' } as unknown as Passkey
  t.equal((await app.post('/login/passkey', await answer())).statusCode, 500)
})
