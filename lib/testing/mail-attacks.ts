import type { LightMyRequestResponse as Response } from 'fastify'
import { testingOf } from './plugin.js'
import { ours, Stopped, type RouteAttacks } from './route-attacks.js'
import type { MailLoginTools } from '../mail-login/tools.js'
import type { Mails } from '../mail/mails.js'
import type { AccountMail } from '../../types/mail.js'
import type { LogInMail } from '../../types/mail-login.js'

export type Post = (url: string, payload: object) => Promise<Response>

interface Catcher {
  waiting: number
  readonly caught: LogInMail[]
  readonly sendMail: Mails['sendMail']
}

/** One for each app: a test may ask for several e-mails at once. */
const catchers = new WeakMap<Mails, Catcher>()

/** The id of the request, which all of its tokens have. */
function idOf(token: string): unknown {
  const claims = Buffer.from(String(token.split('.')[1]), 'base64url').toString()
  return (JSON.parse(claims) as { id: unknown }).id
}

/** Asks for an e-mail, which is caught. `mail` is undefined where none is sent. */
export async function askWith({ mails }: MailLoginTools, post: Post, url: string, payload: object) {
  const made = { waiting: 0, caught: [], sendMail: mails.sendMail }
  const catcher: Catcher = catchers.get(mails) ?? made
  const { caught, sendMail } = catcher
  catchers.set(mails, catcher)
  catcher.waiting += 1
  mails.sendMail = (mail: AccountMail) =>
    mail.kind === 'log-in' ? void caught.push(mail) : sendMail(mail)
  try {
    const response = await post(url, payload)
    await mails.settled()
    if (response.statusCode !== 202) return { response, mail: undefined }
    const id = idOf(response.json<{ token: string }>().token)
    return { response, mail: caught.find(({ token }) => idOf(token) === id) }
  } finally {
    catcher.waiting -= 1
    if (catcher.waiting === 0) {
      mails.sendMail = sendMail
      catchers.delete(mails)
    }
  }
}

const limit = 'one e-mail makes one session'
const changed = 'findByUsername has to find what is stored by now, by that address and no other'

/**
 * Plays logins by e-mail: guesses, replays, and codes and tokens of others.
 * @param email - the address of a user, or of one who signs up
 * @returns the last response that was accepted; undefined where no e-mail was sent
 */
export async function mailAttacks(
  attacks: RouteAttacks<object>,
  email: string,
  more: object,
): Promise<Response | undefined> {
  const tools = testingOf<MailLoginTools>(attacks.app, 'mailLogin')
  if (tools === undefined) return undefined
  const finish = attacks.below('mail/finish')
  const post: Post = (to, payload) => attacks.post(to, { ...more, ...payload })
  const send = async (name: string, body: object, right: number[], why: string) => {
    const response = await post(finish, body)
    if (!attacks.check(name, response, right, why) && right.includes(200)) throw new Stopped()
    return response
  }
  const ask = async () => {
    const { response, mail } = await askWith(tools, post, attacks.below('mail'), { email })
    attacks.check('an e-mail to log in', response, [202], 'a hook rejects it')
    return { asked: response.json<{ token: string }>().token, mail }
  }
  const [one, other] = [await ask(), await ask()]
  if (one.mail === undefined || other.mail === undefined) {
    attacks.report.leftOut.push(`logins by e-mail: ${email} gets none`)
    return undefined
  }
  const { token, code } = one.mail
  await attacks.all('the link of a login', token, finish)
  await send('a link that was changed', { token: `${token.slice(0, -9)}AAAAAAAAA` }, [401], ours)
  if (code !== undefined) {
    const foreign = { token: other.asked, code }
    await send('the code of another e-mail', foreign, [403], ours)
    for (let by = 1; by < 5; by += 1) {
      const guess = String((Number(code) + by) % 1_000_000).padStart(6, '0')
      await send('a guess at a code', { token: other.asked, code: guess }, [403], ours)
    }
    const late = { token: other.asked, code: other.mail.code }
    await send('the code of an e-mail after five wrong ones', late, [401], ours)
  }
  const bodies = [{ token }, ...(code === undefined ? [] : [{ token: one.asked, code }])]
  const won = await send('a login by e-mail', bodies.at(-1) as object, [200, 202], changed)
  const isAsked = won.statusCode === 202
  for (const body of bodies)
    await send('an e-mail that was used', body, isAsked ? [202] : [401, 403], limit)
  const last = await send('another e-mail', { token: other.mail.token }, [200, 202, 401], changed)
  return last.statusCode === 401 ? won : last
}
