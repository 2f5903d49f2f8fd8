// A thread that compares passwords, and gives way to every other thread.
import { readlinkSync } from 'node:fs'
import { setPriority } from 'node:os'
import { basename } from 'node:path'
import { parentPort } from 'node:worker_threads'
import bcrypt from 'bcrypt'

if (process.platform === 'linux') {
  // On Linux a priority is one of a thread; of a process it would be that of the main thread.
  setPriority(Number(basename(readlinkSync('/proc/thread-self'))), 19)
}

parentPort?.on('message', ({ password, hash }: { password: string; hash: string }) => {
  parentPort?.postMessage(bcrypt.compareSync(password, hash), [])
})
