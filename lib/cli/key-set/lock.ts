import { randomUUID } from 'node:crypto'
import { appendFile, constants, readFile, rm } from 'node:fs/promises'
import { hostname } from 'node:os'
import { setTimeout as sleep } from 'node:timers/promises'
import { fail } from '../command.js'
import { codeOf } from '../input.js'
import { quoted } from '../text.js'

/** Appends, and follows no symbolic link: that could lead to any file. */
const flag = constants.O_APPEND | constants.O_CREAT | constants.O_WRONLY | constants.O_NOFOLLOW

/** A name may have spaces, or be empty. */
const here = (): string => encodeURIComponent(hostname()) || '-'

/** A line of a lock file: a process that holds the lock, or waits for it. */
const claimPattern = /^(?<pid>\d+) (?<host>\S+) (?<time>\S+) (?<id>[\w-]{36})$/gm
type Claim = Readonly<Record<'pid' | 'host' | 'time' | 'id', string>>

/**
 * Does some work while no other process works on the same file. Each process appends its claim to a lock file beside it,
 * and the first claim that is not stale holds the lock: so two that find a stale one cannot both take it over.
 * @param work - is given what to call before it writes: it throws when another process has taken the lock over
 * @param patience - how long to wait for the lock, in milliseconds
 * @throws CliError when the lock cannot be had
 */
export async function withLock<Result>(
  file: string,
  work: (requireLock: () => Promise<void>) => Promise<Result>,
  patience = 10_000,
): Promise<Result> {
  const lock = `${file}.lock`
  const id = randomUUID()
  let claims: Claim[] = []
  const own = () => claims.find((claim) => claim.id === id)
  const holder = () => claims.find((claim) => !isStale(claim)) ?? own()
  const isOurs = async (): Promise<boolean> => {
    const text = await readFile(lock, 'utf8').catch(() => '')
    claims = [...text.matchAll(claimPattern)].map(({ groups }) => groups as Claim)
    return holder()?.id === id
  }
  const end = Date.now() + patience
  // It is tried twice: a holder that ends while its claim is read has deleted the file before.
  while (!((await isOurs()) && (await isOurs()))) {
    if (Date.now() > end) {
      fail(
        `process ${holder()?.pid} held the lock ${quoted(lock)} for too long. Nothing was changed.`,
        'Try again. A lock older than 30 seconds is taken over.',
      )
    }
    // The holder of before deletes the file with all claims.
    if (own() === undefined) await claim(lock, id)
    else await sleep(20)
  }
  try {
    return await work(async () => {
      if (!(await isOurs())) fail('another process has taken the lock over. Nothing was changed.')
    })
  } finally {
    if (await isOurs()) await rm(lock, { force: true })
  }
}

async function claim(lock: string, id: string): Promise<void> {
  const line = `${process.pid} ${here()} ${new Date().toISOString()} ${id}`
  try {
    // The line break comes first, since a process that was killed may have left half a line.
    await appendFile(lock, `\n${line}\n`, { flag, mode: 0o600 })
  } catch (error) {
    fail(`the lock file ${quoted(lock)} cannot be written (${codeOf(error)}).`)
  }
}

/** Whether a lock is older than 30 seconds, or its process is gone, which only shows on this host. */
function isStale({ pid, host, time }: Claim): boolean {
  if (Date.now() - Date.parse(time) > 30_000) return true
  try {
    return host === here() && !process.kill(Number(pid), 0)
  } catch (error) {
    return codeOf(error) === 'ESRCH'
  }
}
