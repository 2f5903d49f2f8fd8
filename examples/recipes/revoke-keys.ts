// Revokes the API keys of a user whose password has changed or who was deleted. The owner of a key has to be what
// `login.subject` returns: the id of the user. Users of other registrations may have the same ids.
import type { FastifyInstance } from 'fastify'
import { channels, type AuthnEvents } from 'fastify-authn'

export function revokeKeys(app: FastifyInstance): void {
  const { apiKeys, registration } = app.authn

  async function revokeAll(owner: string): Promise<void> {
    for (const { id } of await apiKeys.list(owner)) await apiKeys.revoke(id, { owner })
  }
  function onAccount({ action, sub, request, ...event }: AuthnEvents['account']): void {
    if (event.registration !== registration) return
    if (action === 'created' || action === 'email-changed') return
    revokeAll(sub).catch((error: unknown) => request.log.error(error))
  }
  channels.account.subscribe(onAccount)
  app.addHook('onClose', () => channels.account.unsubscribe(onAccount))
}
