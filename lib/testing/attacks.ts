import { Attack } from './attack.js'
import { checkAttackOptions, type AttackedApp, type AttackOptions } from './attack-options.js'
import { AttackReport } from './report.js'
import { openWire } from './wire.js'

/**
 * Plays a corpus of several hundred attacks against a route of an app: headers of all shapes, broken
 * tokens, confused algorithms, wrong passwords, credentials in wrong places. What is not refused with a 401
 * is a problem of the report. Each request comes from another address, so that throttling by address does
 * not refuse what authentication would let in.
 *
 * First, and once more at the end, it makes sure that good credentials are let in: a route that refuses
 * everybody proves nothing.
 *
 * @param app - the app; it is made ready. It need not have the kit registered
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
