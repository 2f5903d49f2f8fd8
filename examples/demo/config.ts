import { randomBytes } from 'node:crypto'
import { fileURLToPath } from 'node:url'
import { configFromEnv, type BasicConfig, type JwtConfig } from 'fastify-authn'
import { StartError } from './errors.js'
import { readPort } from './port.js'

/** Everything that the environment decides. */
export interface Settings {
  readonly host: string
  readonly port: number
  readonly logLevel: string
  /** A PostgreSQL server; without one the database is embedded. */
  readonly databaseUrl: string | undefined
  /** Where the embedded database keeps its files; without it, it lives in memory. */
  readonly dataDir: string | undefined
  /** Where the PEM files of RS256 and ES256 are. */
  readonly keysDir: string
  readonly jwt: JwtConfig
  readonly basic: BasicConfig
  /** The bcrypt cost of new passwords. Tests take a lower one. */
  readonly passwordCost: number
  /** What was not set, and was generated for this run. */
  readonly madeUp: { readonly secret: boolean; readonly basic: boolean }
}

type Environment = Readonly<Record<string, string | undefined>>

const logLevels = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent']

/**
 * Reads the settings, once, when the demo starts.
 *
 * @throws StartError, or an error of fastify-authn, for a value that does not fit
 */
export function readSettings(env: Environment = process.env): Settings {
  const { jwt, basic } = configFromEnv(env)
  return {
    host: env.HOST || '127.0.0.1',
    port: readPort(env.PORT || '3000'),
    logLevel: readLogLevel(env.LOG_LEVEL || 'warn'),
    databaseUrl: env.DATABASE_URL || undefined,
    dataDir: env.DEMO_DATA_DIR || undefined,
    // Beside the folder of the compiled files.
    keysDir: env.DEMO_KEYS_DIR || fileURLToPath(new URL('../keys', import.meta.url)),
    // HS256 wants 256 bits or more.
    jwt: { ...jwt, secret: jwt?.secret ?? randomText(32) },
    basic: basic ?? { username: 'admin', password: randomText(12) },
    passwordCost: 10,
    madeUp: { secret: jwt?.secret === undefined, basic: basic === undefined },
  }
}

function randomText(bytes: number): string {
  return randomBytes(bytes).toString('base64url')
}

function readLogLevel(text: string): string {
  if (logLevels.includes(text)) return text
  throw new StartError(
    `LOG_LEVEL is ${JSON.stringify(text)}, expected one of ${logLevels.join(', ')}.`,
  )
}
