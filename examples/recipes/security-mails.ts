import type { FastifyInstance } from 'fastify'
import { channels, type AuthnEvents } from 'fastify-authn'

/** Without versions: an update of a browser makes no new device of it. */
const deviceOf = (userAgent: string | null | undefined): string =>
  (userAgent ?? '').replaceAll(/[\d._]+/g, '')

/** Routes that begin a session too, of which the user gets another e-mail. */
const hasOwnMail = /\/(?:sign-up\/finish|second-factor\/enable|password\/\w+)$/

/**
 * Tells users by e-mail of a login on a new device, and of each new way to log in: what a thief would do.
 * Call it once in each process, with the option `users`; what it returns ends it, when all mails are sent.
 */
export function sendSecurityMails(
  app: FastifyInstance,
  send: (letter: { to: string; subject: string; text: string }) => unknown,
): () => Promise<unknown> {
  const { registration, sessions, users } = app.authn
  const pending = new Set<Promise<unknown>>()
  const stops: (() => void)[] = []

  async function tell(sub: string, subject: string): Promise<void> {
    const user = await users.find(sub)
    const text = 'If this was not you, choose a new password, and look at your account.'
    if (typeof user?.email === 'string') await send({ to: user.email, subject, text })
  }
  function on<Name extends 'login' | 'secondFactor' | 'passkey' | 'link'>(
    name: Name,
    write: (event: AuthnEvents[Name]) => Promise<void> | undefined,
  ): void {
    function listener(event: AuthnEvents[Name]): void {
      if (event.registration !== registration) return
      // An error here must not end the process, nor hold the login up.
      const work = Promise.resolve(write(event)).catch((error: unknown) => app.log.error(error))
      pending.add(work)
      void work.then(() => pending.delete(work))
    }
    channels[name].subscribe(listener)
    stops.push(() => channels[name].unsubscribe(listener))
  }

  on('login', async ({ user, request }) => {
    if (hasOwnMail.test(request.routeOptions.url ?? '')) return
    const { id } = user as { id: number | string }
    const device = deviceOf(request.headers['user-agent'])
    const all = await sessions.list(String(id))
    const isKnown = all.filter(({ userAgent }) => deviceOf(userAgent) === device).length > 1
    if (!isKnown) await tell(String(id), 'A login on a new device')
  })
  on('secondFactor', ({ sub, action }) =>
    action === 'failed' ? undefined : tell(String(sub), `Your second factor: ${action}`),
  )
  on('passkey', ({ sub, action }) =>
    action === 'used' ? undefined : tell(String(sub), `A passkey was ${action}`),
  )
  on('link', ({ sub, provider }) => tell(String(sub), `${provider} can log you in now`))

  return async () => {
    for (const stop of stops) stop()
    await Promise.all(pending)
  }
}
