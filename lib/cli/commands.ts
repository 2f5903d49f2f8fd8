import { doctor } from './commands/doctor.js'
import { hash } from './commands/hash.js'
import { inspect } from './commands/inspect.js'
import { keys } from './commands/keys.js'
import { secret } from './commands/secret.js'
import { sessions } from './commands/sessions.js'
import { token } from './commands/token.js'
import type { Command } from './command.js'

/** Every command, in the order of the help. A new one is a file in `commands/` and a line here. */
export const commands: Readonly<Record<string, Command>> = Object.assign(Object.create(null), {
  secret,
  keys,
  hash,
  token,
  inspect,
  sessions,
  doctor,
})
