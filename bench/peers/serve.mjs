// What all peers have in common: the settings from the driver, the users, and the answers to the driver.

/** @type {{ key: { algorithm: string, secret?: string, private?: string, public?: string } } & Record<string, any>} */
export const settings = JSON.parse(process.argv[2] ?? '{}')

export const user0 = {
  id: 1,
  name: 'user0',
  ...(settings.passwordHash && { password: settings.passwordHash }),
}
const users = new Map([[user0.name, user0]])

/** The look-up that every peer makes on every protected request; a database would be asked here. */
export const findUser = async (name) => users.get(name)

let provide
const known = new Promise((resolve) => (provide = resolve))

// Both from the first moment: one that hangs while it starts must not stay, and no question may get lost.
if (!process.connected) process.exit()
process.on('disconnect', () => process.exit())
process.on('message', async ({ id, question, argument }) => {
  const answers = await known
  process.send({ id, answer: await answers[question]?.(argument) })
})

/** Answers the questions of the driver, from now on. */
export const answer = provide

/** @returns microseconds of all threads of this process */
export function cpu() {
  const { user, system } = process.cpuUsage()
  return user + system
}

/** @returns the memory in use, after everything that can be collected is */
export function memory() {
  globalThis.gc?.()
  globalThis.gc?.()
  return process.memoryUsage()
}

/** Tells the driver where the server listens. */
export function serve(port, more = {}) {
  answer({ ready: () => true, port: () => port, cpu, memory, ...more })
}
