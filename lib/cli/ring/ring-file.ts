import path from 'node:path'
import { fail } from '../command.js'
import { reasonOf } from '../input.js'
import { makeFolder } from '../new-files.js'
import { quoted } from '../text.js'
import { changeRing } from './change.js'
import { ringText } from './keys-of.js'
import { makeKey, type Wanted } from './new-key.js'
import { revoke, rotate, type Changed, type RingKey, type Rotation } from './rotation.js'
import { syncFolder, writeNew } from './write.js'
import type { Machine } from './files.js'
import type { Environment } from '../../options/environment.js'

/**
 * Makes a ring file with a `sign` key and a `next` key.
 *
 * @throws CliError when anything is there already
 */
export async function createRing(
  machine: Machine,
  file: string,
  wanted: Omit<Wanted, 'state'>,
  env: Environment,
): Promise<RingKey[]> {
  const [sign, next] = await Promise.all([
    makeKey({ ...wanted, state: 'sign', since: machine.now() }, env),
    makeKey({ ...wanted, state: 'next' }, env),
  ])
  const keys = [sign, next]
  try {
    await makeFolder(path.dirname(file))
    await writeNew(machine, file, ringText(keys))
    await syncFolder(machine, path.dirname(file))
  } catch (error) {
    const reason = reasonOf(error)
    if (reason !== 'EEXIST') fail(`the ring file ${quoted(file)} cannot be written (${reason}).`)
    fail(
      `${quoted(file)} is there already. Nothing was written.`,
      'To change a ring: npx fastify-authn keys rotate. To make another, give another name.',
    )
  }
  return keys
}

/** @throws CliError; nothing was changed then */
export function rotateRing(
  machine: Machine,
  file: string,
  rotation: Omit<Rotation, 'now'>,
  env: Environment,
): Promise<Changed> {
  return changeRing(machine, file, env, (keys, make) =>
    rotate(keys, { ...rotation, now: machine.now() }, make),
  )
}

/** @throws CliError; nothing was changed then */
export function revokeKey(
  machine: Machine,
  file: string,
  kid: string,
  env: Environment,
): Promise<Changed> {
  return changeRing(machine, file, env, (keys, make) => revoke(keys, kid, machine.now(), make))
}
