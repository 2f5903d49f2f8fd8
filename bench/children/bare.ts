// bcrypt and nothing else, on all cores.
import bcrypt from 'bcrypt'
import { answer, settingsOf } from '../support/child.js'

const { hash } = settingsOf<{ hash: string }>()
let count = 0

async function compareForEver(): Promise<never> {
  for (;;) {
    await bcrypt.compare('a wrong password', hash)
    count += 1
  }
}

for (let running = 0; running < 8; running += 1) void compareForEver()

answer({ ready: () => true, count: () => count })
