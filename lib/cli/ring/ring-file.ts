import path from 'node:path'
import { algorithmOf } from '../../common/algorithms.js'
import { fail } from '../command.js'
import { reasonOf } from '../input.js'
import { makeFolder } from '../new-files.js'
import { quoted } from '../text.js'
import { changeRing, readRing } from './change.js'
import { keysOf, ringText } from './keys-of.js'
import { makeKey, type Wanted } from './new-key.js'
import {
  revoke,
  rotate,
  type Changed,
  type MakeNext,
  type RingKey,
  type Rotation,
} from './rotation.js'
import { syncFolder, writeNew } from './write.js'
import type { Machine } from './files.js'
import type { SigningMethod } from '../../../types/jwt.js'
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
  return change(machine, file, env, (keys, make) =>
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
  return change(machine, file, env, (keys, make) => revoke(keys, kid, machine.now(), make))
}

async function change(
  machine: Machine,
  given: string,
  env: Environment,
  work: (keys: readonly RingKey[], make: MakeNext) => Promise<Changed>,
): Promise<Changed> {
  const { stock, take } = makers(env)
  // A rehearsal, so that the keys are there when the ring is locked: those of RSA take a second, and others wait.
  await work(await keysOf(await readRing(machine, given), env), stock)
  return changeRing(machine, given, async (ring) => {
    const changed = await work(await keysOf(ring, env), take)
    const text = ringText(changed.keys)
    // What would stop the boot is never written.
    await keysOf({ ...ring, text }, env)
    return { text, result: changed }
  })
}

/** Two makers of keys: what the first one makes is kept, and given out by the second one where it fits. */
function makers(env: Environment): { stock: MakeNext; take: MakeNext } {
  const kept = new Map<string, RingKey[]>()
  const nameOf = (wanted: Wanted): string => JSON.stringify(wanted)
  return {
    async stock(alg, like) {
      const wanted = wantedLike(alg, like)
      const key = await makeKey(wanted, env)
      kept.set(nameOf(wanted), [...(kept.get(nameOf(wanted)) ?? []), key])
      return key
    },
    async take(alg, like) {
      const wanted = wantedLike(alg, like)
      return kept.get(nameOf(wanted))?.pop() ?? makeKey(wanted, env)
    },
  }
}

function wantedLike(alg: SigningMethod, { entry, bits }: RingKey): Wanted {
  const isLike = algorithmOf(alg).family === algorithmOf(entry.alg).family
  const { passphraseEnv } = entry
  return { alg, state: 'next', passphraseEnv, bits: isLike ? bits : undefined }
}
