import type { LightMyRequestResponse as Response } from 'fastify'
import type { VirtualPasskey } from './virtual-passkey.js'

/** What the attacks send, and what they check. */
interface Play {
  /** Sends a body to a route of passkeys below the login. */
  send(path: string, body: object): Promise<Response>
  check(name: string, response: Response, right: number[], why: string): boolean
}

interface Asked {
  readonly token: string
  readonly publicKey: object
}

const swap = 'passkeys.update has to store, and to compare with "before"'
const ours = 'this is a fault of fastify-authn'

/** Logs in with responses of a passkey that are of another challenge, are changed, or were used. @param adding - of a session */
export async function passkeyAttacks(play: Play, passkey: VirtualPasskey, adding: Asked) {
  const enter = (body: object): Promise<Response> => play.send('passkey', body)
  const ask = async () => (await play.send('passkey/options', {})).json<Asked>()
  const [older, { token, publicKey }] = [await ask(), await ask()]
  const response = passkey.get(publicKey)
  const old = { token: older.token, response: passkey.get(older.publicKey) }
  const wrong = async (name: string, body: object, status = 403, why = ours): Promise<void> => {
    play.check(`a passkey with ${name}`, await enter(body), [status], why)
  }
  await wrong('another challenge', { token: older.token, response })
  await wrong('the token of a new passkey', { token: adding.token, response }, 401)
  const fields = Object.entries(response.response) as [string, string][]
  for (const [name, value] of fields) {
    const changed = {
      ...response.response,
      [name]: `${value.startsWith('A') ? 'B' : 'A'}${value.slice(1)}`,
    }
    await wrong(`another ${name}`, { token, response: { ...response, response: changed } })
  }
  const all = await Promise.all([1, 2, 3].map(() => enter({ token, response })))
  const again = await enter({ token, response })
  const won = all.find(({ statusCode }) => statusCode === 200) ?? again
  play.check('a passkey', won, [200], `${swap}; passkeys.list has to find what was added`)
  for (const each of [...all, again])
    if (each !== won) play.check('one response several times', each, [403], swap)
  play.check('a passkey with an older challenge', await enter(old), [200], swap)
  await wrong('a response that was used before others', { token, response }, 403, swap)
}
