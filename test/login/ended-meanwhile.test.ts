// A session that ends while a request is under way: nothing is stored, and no session begins.
import { setImmediate, setTimeout } from 'node:timers/promises'
import { PassThrough } from 'node:stream'
import t, { type Test } from 'tap'
import { hash, newPassword, password } from '../helpers/accounts.js'
import { browser } from '../helpers/passkeys.js'
import { people, proofApp } from '../helpers/proof-app.js'
import { answerOf } from '../helpers/second-factor.js'

type Headers = Record<string, string>
type Setting = Awaited<ReturnType<typeof proofApp>>

const gone = '401 ERR_AUTH_JWT_INVALID'
const away = '503 ERR_AUTH_STORE_UNAVAILABLE'

/** Requests that change how a user logs in, or begin a session. @returns the URL and the body of one */
const changes: Record<string, (setting: Setting, headers: Headers) => Promise<[string, object]>> = {
  enable: async ({ setUp }, headers) => ['/second-factor/enable', (await setUp(headers)).body],
  async 'add a passkey'({ asked }, headers) {
    const { token, publicKey } = await asked('/passkeys/options', headers)
    return ['/passkeys', { token, response: browser().create(publicKey) }]
  },
  'change the password': async () => [
    '/password/change',
    { currentPassword: password, password: newPassword },
  ],
  'confirm by the password': async () => ['/login/confirm', { password }],
}

/** Sends a request whose body is held back for less than two seconds. */
async function held(
  { app }: Setting,
  url: string,
  headers: Headers,
  body: object,
  meanwhile: () => unknown,
) {
  const text = JSON.stringify(body)
  const payload = new PassThrough()
  payload.write(text.slice(0, 1))
  const json = { 'content-type': 'application/json', ...headers }
  const response = app.inject({ method: 'POST', url, headers: json, payload })
  // The guard has let it pass when the body is read.
  for (let turns = 0; turns < 50; turns += 1) await setImmediate()
  await meanwhile()
  payload.end(text.slice(1))
  return response
}

// What holds for the routes of the plugin is in test/plugin-routes.test.ts.
t.test('"log out everywhere" while the body of a request to the app is held back', async (t) => {
  const setting = await proofApp(t)
  const { app, begin } = setting
  const logOut = () => app.authn.sessions.revoke({ sub: people.plain })
  const marks = { '/on': gone, '/optional': gone, '/fresh': gone, '/try': '200 {"user":false}' }
  for (const [url, answer] of Object.entries(marks)) {
    const headers = await begin('plain', { amr: ['pwd'] })
    t.equal(answerOf(await held(setting, url, headers, {}, logOut)), answer, url)
    const other = await begin('plain', { amr: ['pwd'] })
    const passed = await held(setting, url, other, {}, () => undefined)
    t.equal(answerOf(passed), '200 {"user":true}', url)
  }
})

/** The steps in which the app stores. What it stores in the very moment of a logout stays. */
const storing = /^(?:factor update|passkeys add|accounts update)$/

/** Does something before a step of a request, from the first to the last of them. */
async function atEachStep(
  t: Test,
  setting: Setting,
  change: (typeof changes)[string],
  work: (name: string) => unknown,
  check: (answer: string, step: string, isEarly: boolean) => Promise<unknown>,
) {
  const { begin, post, steps, restore, outside } = setting
  let isOver = false
  for (let at = 0; !isOver; at += 1) {
    restore()
    await outside.revoke({ sub }, 1000, 'another process')
    // The store counts milliseconds, and its clock is another one: a login that begins soon after may have begun before.
    await setTimeout(50)
    const headers = await begin('plain', { amr: ['pwd'] })
    const [url, body] = await change(setting, headers)
    const seen: string[] = []
    let step = ''
    let isEarly = true
    steps.before = async (name) => {
      isEarly &&= step !== '' || !storing.test(name)
      if (seen.push(name) !== at + 1) return
      step = `${at}, ${name}`
      await work(name)
    }
    const answer = answerOf(await post(url, body, headers))
    steps.before = async () => undefined
    isOver = step === ''
    t.notMatch(answer, /^500/, step)
    if (!isOver) await check(answer, step, isEarly)
    else t.match(answer, /^20[01]/, `after ${at} steps`)
  }
}

const sub = String(people.plain)

for (const [name, change] of Object.entries(changes)) {
  t.test(`"log out everywhere" or a reset in another process: ${name}`, async (t) => {
    const setting = await proofApp(t)
    const { outside, rowOf, keys } = setting
    const before = JSON.stringify([rowOf('plain'), keys])
    const logOut = () => outside.revoke({ sub }, 1000, 'another process')
    await atEachStep(t, setting, change, logOut, async (answer, step, isEarly) => {
      t.strictSame(await outside.list(sub), [], step)
      if (name !== 'add a passkey' || isEarly) t.match(answer, /^401/, step)
      if (isEarly) t.equal(JSON.stringify([rowOf('plain'), keys]), before, step)
    })
    const other = hash.replace(/.$/, (last) => (last === 'a' ? 'b' : 'a'))
    const reset = async (): Promise<void> => {
      rowOf('plain').password = other
      await logOut()
    }
    await atEachStep(t, setting, change, reset, async (_answer, step) => {
      t.strictSame(await outside.list(sub), [], step)
      t.equal(rowOf('plain').password, other, step)
    })
  })

  t.test(`a store that fails once: ${name}`, async (t) => {
    const setting = await proofApp(t)
    const { outside, rowOf, keys } = setting
    const before = JSON.stringify([rowOf('plain'), keys])
    const fail = (step: string): void => {
      if (step.startsWith('store')) throw new Error('down')
    }
    await atEachStep(t, setting, change, fail, async (answer, step) => {
      if (!step.includes('store')) return
      t.equal(answer, away, step)
      t.equal((await outside.list(sub)).length, 1, step)
      // Once the app has stored it, a new password stays.
      if (name === 'change the password') return
      t.equal(JSON.stringify([rowOf('plain'), keys]), before, step)
    })
  })
}
