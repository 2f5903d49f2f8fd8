import { randomBytes, randomInt } from 'node:crypto'
import type { FastifyInstance, FastifyRequest, LightMyRequestResponse as Response } from 'fastify'
import { isStored } from '../common/stored.js'
import { sessionOf } from './log-in-with.js'
import { testingOf } from './plugin.js'
import { ours, RouteAttacks, Stopped } from './route-attacks.js'
import { watchRequest, type Watched } from './watched.js'
import type { AccountTools } from '../accounts/tools.js'
import type { Account } from '../login/stored-accounts.js'
import type { SecondFactorTools } from '../second-factor/tools.js'
import type { Authenticator } from '../../types/authenticator.js'
import type { RequestSession } from '../../types/session-api.js'
import type { FactorAttackOptions } from './attack-options.js'
import type { AttackReport } from './report.js'
import type { VirtualPasskey } from './virtual-passkey.js'

type Headers = Record<string, string>
type Answer = Pick<Response, 'statusCode'>
type Asked = { readonly token: string; readonly publicKey: object }

const field = 'findByUsername has to return the field of the second factor, by name and by id'
const swap = 'update has to store, and to compare with "before"'
const updatePasskey = 'passkeys.update has to store, and to compare with "before"'

/**
 * Tries to get around the second factor of a user by the app's own routes: without a code, with one code several times, by
 * guesses at once, on a remembered device, by Basic, and with a password that changes in between. It logs in, which uses
 * up codes and leaves wrong ones counted.
 * @param app - the app, with `authnTesting`; or the inner scope in which the plugin is registered. `ready()` is called
 * @returns the report; `report.problems` is empty when all is well
 * @throws (rejects) ERR_AUTH_TESTING
 * @example
 * const report = await factorAttacks(app, { login, code: () => recoveryCodes.pop() })
 * assert.deepEqual(report.problems, [])
 */
export async function factorAttacks(
  app: FastifyInstance,
  { login: forms, code, passkey }: FactorAttackOptions,
): Promise<AttackReport> {
  await app.ready()
  const attacks = new RouteAttacks<SecondFactorTools>(app, 'factorAttacks', 'secondFactor')
  const { registration, below, beside, loginUrl, report } = attacks
  const { store, resolved } = attacks.tools
  const { usernameField, passwordField } = attacks.login
  const last = below('second-factor')
  const post = attacks.post.bind(attacks)
  const check = attacks.check.bind(attacks)
  return attacks.run(play)

  async function play(): Promise<void> {
    const token = await half()
    await asOther(token)
    const won = await atOnce(token)
    await onDevice(won)
    await basic()
    if (passkey) await withPasskey(passkey, won)
    const request = await requestWith(sessionOf(won))
    const { sub } = app.authn.sessions.of(request) as RequestSession
    await compare(request, sub)
    await afterReset(request, sub)
    await guess()
  }

  /** Logs in with the password. @returns the token of the 202 @throws Stopped */
  async function half(): Promise<string> {
    const response = await post(loginUrl, forms)
    if (!check('login with the password alone', response, [202], field)) throw new Stopped()
    return response.json<{ secondFactor: { token: string } }>().secondFactor.token
  }

  async function asOther(token: string): Promise<void> {
    await attacks.all('half a login', token)
    const refreshed = await post(below('refresh'), { refreshToken: token })
    check('half a login as a refresh token', refreshed, [401], ours)
    const changed = await post(last, { token: `${token}x`, code: '000000' })
    check('half a login that was changed', changed, [401], ours)
  }

  /** Sends one code three times at once, and once more. @returns the response that has won @throws Stopped */
  async function atOnce(token: string): Promise<Response> {
    const body = { token, code: code(), remember: true }
    const { won, others } = await fourTimes(() => post(last, body))
    const why = `${swap}; ${field}; code() has to return an unused one`
    if (!check('a right code', won, [200], why)) throw new Stopped()
    for (const each of others) check('one code several times', each, [403], swap)
    return won
  }

  async function onDevice({ cookies }: Response): Promise<void> {
    const device = cookies.find(({ name }) => name.endsWith('device'))
    if (device === undefined) return void report.leftOut.push('a remembered device: no "remember"')
    const cookie = `${device.name}=${device.value}`
    const response = await post(loginUrl, forms, { cookie })
    if (!check('login on a remembered device', response, [200], field)) return
    const url = beside('second-factor/setup')
    check('a remembered device', await post(url, {}, sessionOf(response)), [401], ours)
    const password = forms[passwordField]
    const confirmed = await post(below('confirm'), { password }, sessionOf(response))
    if (confirmed.statusCode === 200)
      check('its password again', await post(url, {}, sessionOf(confirmed)), [401], ours)
  }

  async function basic(): Promise<void> {
    const [name, password] = [forms[usernameField], forms[passwordField]].map(String)
    const pair = Buffer.from(`${name}:${password}`).toString('base64')
    const request = await requestWith({ authorization: `Basic ${pair}` })
    const authenticator = registration.authenticators.get('basic') as Authenticator
    const answer = Promise.resolve(authenticator.authenticate(request))
    const { statusCode = 200 } = (await answer.catch((error) => error as Answer)) as Partial<Answer>
    check('Basic', { statusCode }, [401], ours)
  }

  async function requestWith(headers: Headers): Promise<FastifyRequest> {
    const url = beside('second-factor')
    const seen = await watchRequest((simulate) => app.inject({ url, headers, simulate }))
    return (seen as Watched).request
  }

  /** Asks `update` itself, since a fast database hides that it does not compare. */
  async function compare(request: FastifyRequest, sub: string): Promise<void> {
    const user = (await store.find(sub, request)) as object
    const stored: unknown = await resolved.given.update(user, store.textOf(user), 'another text')
    const isDone = isStored(stored, 'ERR_AUTH_SECOND_FACTOR', 'secondFactor.update')
    check('update with another "before"', { statusCode: isDone ? 200 : 403 }, [403], swap)
  }

  /** Changes the password between password and code, and back. */
  async function afterReset(request: FastifyRequest, sub: string): Promise<void> {
    const tools = testingOf<AccountTools>(app, 'accounts')
    if (!tools) return void report.leftOut.push('a reset in between: no option "accounts"')
    const token = await half()
    const account = (await tools.find(sub, request)) as Account
    const after = { ...account.values, passwordHash: randomBytes(30).toString('base64') }
    await tools.update(account, after)
    const response = await post(last, { token, code: code() })
    await tools.update(account, account.values, after)
    check('a new password between password and code', response, [401], field)
  }

  async function guess(): Promise<void> {
    const token = await half()
    const guesses = Array.from({ length: 30 }, () => String(randomInt(1_000_000)).padStart(6, '0'))
    const all = await Promise.all(guesses.map((each) => post(last, { token, code: each })))
    const looked = new Set(all.filter(({ statusCode }) => statusCode === 403).slice(0, 5))
    const others = all.filter((each) => !looked.has(each))
    for (const each of others) check('30 guesses at once', each, [429, 503], swap)
    const after = await post(last, { token, code: code() })
    check('a code after guesses', after, [200, 429], `${swap}; ${field}`)
    if (after.statusCode === 429) report.leftOut.push('a code after guesses: the user has to wait')
  }

  /** Logs in with responses of a passkey that are of another challenge, are changed, or were used. */
  async function withPasskey(passkey: VirtualPasskey, login: Response): Promise<void> {
    const adding = await post(beside('passkeys/options'), {}, sessionOf(login))
    const enter = (body: object): Promise<Response> => post(below('passkey'), body)
    const ask = async () => (await post(below('passkey/options'), {})).json<Asked>()
    const [older, { token, publicKey }] = [await ask(), await ask()]
    const response = passkey.get(publicKey)
    const old = { token: older.token, response: passkey.get(older.publicKey) }
    const wrong = async (name: string, body: object, status = 403, why = ours): Promise<void> => {
      check(`a passkey with ${name}`, await enter(body), [status], why)
    }
    await wrong('another challenge', { token: older.token, response })
    await wrong('the token of a new passkey', { token: adding.json<Asked>().token, response }, 401)
    const fields = Object.entries(response.response) as [string, string][]
    for (const [name, value] of fields) {
      const changed = {
        ...response.response,
        [name]: `${value.startsWith('A') ? 'B' : 'A'}${value.slice(1)}`,
      }
      await wrong(`another ${name}`, { token, response: { ...response, response: changed } })
    }
    const { won, others } = await fourTimes(() => enter({ token, response }))
    check('a passkey', won, [200], `${updatePasskey}; passkeys.list has to find what was added`)
    for (const each of others) check('one response several times', each, [403], updatePasskey)
    check('a passkey with an older challenge', await enter(old), [200], updatePasskey)
    await wrong('a response that was used before others', { token, response }, 403, updatePasskey)
  }
}

/** Sends a request three times at once, and once more. */
async function fourTimes(send: () => Promise<Response>) {
  const all = [...(await Promise.all([send(), send(), send()])), await send()] as const
  const won = all.find(({ statusCode }) => statusCode === 200) ?? all[3]
  return { won, others: all.filter((each) => each !== won) }
}
