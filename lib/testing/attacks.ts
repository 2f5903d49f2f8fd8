import { Attack } from './attack.js'
import { checkAttackOptions, type AttackedApp, type AttackOptions } from './attack-options.js'
import { AttackReport } from './report.js'
import { openWire } from './wire.js'

/**
 * Sends several hundred attacks to a route of an app: malformed headers, broken tokens, confused algorithms, wrong
 * passwords, credentials in wrong places. Every response but a 401 is reported as a problem. Each request comes from
 * another address, because throttling by address would otherwise refuse what authentication accepts.
 *
 * On a route with a scope or a role, the right user is played without it too, or with one that is nearly the same:
 * there, every response but a 403 is a problem. Roles, and scopes that are not those of a token, take `authnTesting`.
 *
 * At the beginning and at the end it checks that good credentials are accepted: a route that refuses everything
 * would prove nothing.
 *
 * @param app - the app; it is booted if it is not ready yet. `authnTesting` need not be registered otherwise
 * @returns the report; `report.problems` is empty when all is well
 * @throws ERR_AUTH_TESTING for options that do not fit
 *
 * @example
 * const report = await authAttacks(app, { url: '/me', sub: 'alice' })
 * assert.deepEqual(report.problems, [])
 */
export async function authAttacks(app: AttackedApp, options: AttackOptions): Promise<AttackReport> {
  checkAttackOptions(options)
  await app.ready()
  const { method = 'GET', url } = options
  const report = new AttackReport(`${method.toUpperCase()} ${url}`)
  const wire = options.sockets === false ? null : await openWire((...args) => app.routing(...args))
  try {
    await new Attack(app, options, report, wire).run()
  } finally {
    await wire?.close()
  }
  return report
}
