/** The demo cannot start, and the person who started it can mend that: one line says how. */
export class StartError extends Error {
  override readonly name = 'StartError'
}

type ListenError = NodeJS.ErrnoException & { address?: string; port?: number }

const wrongHost = 'HOST is no address of this machine. Leave it out to listen on 127.0.0.1.'

/** What to tell of errors of listening, by code. */
const listenErrors: Readonly<Record<string, (place: string) => string>> = {
  EADDRINUSE: (place) =>
    `Something else listens on ${place}. Stop it, or choose another port: PORT=3001 npm start`,
  EACCES: (place) =>
    `Listening on ${place} is not permitted. Choose a port above 1023: PORT=3001 npm start`,
  EADDRNOTAVAIL: () => wrongHost,
  ENOTFOUND: () => wrongHost,
  EAI_AGAIN: () => wrongHost,
}

/**
 * What to tell of an error that stopped the start: one line for those that a setting can mend, and
 * the whole stack for those that would be bugs.
 */
export function explain(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  const { code = '', syscall, address, port } = error as ListenError
  const isListening = syscall === 'listen' || syscall === 'getaddrinfo'
  const listenError = isListening ? listenErrors[code] : undefined
  if (listenError !== undefined) return listenError(`${address}, port ${port}`)
  // The errors of fastify-authn name the option, what is wrong with it, and the remedy; those of files
  // name the file.
  const isMendable = error instanceof StartError || code.startsWith('ERR_AUTH_') || 'path' in error
  return isMendable ? error.message : (error.stack ?? error.message)
}
