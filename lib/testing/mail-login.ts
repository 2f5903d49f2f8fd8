import type { FastifyInstance, LightMyRequestResponse as Response } from 'fastify'
import { belowLogin, urlOf } from '../login/plugin-routes.js'
import { registrationOf } from '../request/registration.js'
import { testingError } from './error.js'
import { sessionOf } from './log-in-with.js'
import { askWith, type Post } from './mail-attacks.js'
import { hasTestKit, testingOf } from './plugin.js'
import type { MailLoginTools } from '../mail-login/tools.js'
import type { Registration } from '../feature.js'
import type { ResolvedLogin } from '../options/resolve.js'

/** The result of `mailLoginWith`. */
export interface MailLogin {
  /** The response of `POST /login/mail/finish`, or of `POST /login/mail` if that was rejected. */
  readonly response: Response
  /** What `app.inject` needs to send as the user: cookies or an access token. */
  readonly headers: Record<string, string>
}

/**
 * Logs in by an e-mail, by the app's own routes. The e-mail is caught: `accounts.sendMail` does not get it.
 * @param app - the app, after `ready()`, with `authnTesting`; or the inner scope in which the plugin is registered
 * @param email - the address of a user, or with `mailLogin.signUp` of one who signs up
 * @param options - `code`: by the code in place of the link; default false
 * @returns the response, and `headers` for `app.inject`
 * @throws (rejects) ERR_AUTH_TESTING, also where no e-mail is sent to the address
 * @example
 * const { headers } = await mailLoginWith(app, 'alice@example.com')
 * await app.inject({ url: '/notes', headers })
 */
export async function mailLoginWith(
  app: FastifyInstance,
  email: string,
  { code: isByCode = false }: { readonly code?: boolean | undefined } = {},
): Promise<MailLogin> {
  const tools = hasTestKit(app) && testingOf<MailLoginTools>(app, 'mailLogin')
  if (!tools) {
    return testingError(
      'mailLoginWith: expected authnTesting and the option "mailLogin" in the app. Await app.ready() first (in an inner scope: pass that scope).',
    )
  }
  const registration = registrationOf(app) as Registration
  const { path } = registration.options.login as ResolvedLogin
  const url = urlOf(registration.app, belowLogin(path, 'mail'))
  const post: Post = (to, payload) => app.inject({ method: 'POST', url: to, payload })
  const { response, mail } = await askWith(tools, post, url, { email })
  if (response.statusCode !== 202) return { response, headers: {} }
  if (mail === undefined) {
    return testingError(
      `mailLoginWith: no e-mail was sent to ${email}: it is of no user who may log in by one, or got too many.`,
    )
  }
  const { token } = response.json<{ token: string }>()
  const body = isByCode ? { token, code: mail.code } : { token: mail.token }
  const finished = await post(`${url}/finish`, body)
  return { response: finished, headers: sessionOf(finished) }
}
