import { randomBytes } from 'node:crypto'
import { configFromEnv, type Environment } from '../../options/environment.js'
import { findEngine } from '../../passwords/kinds/argon2.js'
import { exits, type Command } from '../command.js'
import {
  algOption,
  envOption,
  inVariables,
  keySetOption,
  loadPlugin,
  openService,
  startupError,
  variables,
  type KeyOptions,
} from '../environment.js'

/** A note is for information only and does not change the exit code. */
interface Finding {
  readonly level: 'error' | 'warning' | 'note'
  readonly problem: string
}

const stores = ['AUTH_SESSIONS', 'AUTH_API_KEYS'].flatMap((start) => [
  `${start}_REDIS_URL`,
  `${start}_DATABASE_URL`,
])
const known = [...variables, ...stores, 'AUTH_USERS_DATABASE_URL']
// Some editors begin a file with a byte order mark, which is then part of the first name.
const ownStart = /^\ufeff?auth_(?:jwt|basic|sessions|api_keys|users)_/i

export const doctor: Command<KeyOptions> = {
  name: 'doctor',
  summary: 'check the configuration in the environment, by starting an app with it',
  details: `An error makes startup fail. Warnings are probably mistakes. Notes are only for information.
No value of a variable is printed, except the paths of files.`,
  options: [algOption('the option jwt.signingMethod of the app'), envOption, keySetOption],
  examples: ['npx fastify-authn doctor --env .env', 'npx fastify-authn doctor --alg ES256 --json'],
  exits: ['nothing is wrong', 'there are errors or warnings'],
  async run(options) {
    const set = known.filter((name) => process.env[name])
    const isUnset = set.length === 0 && options.keySet === undefined
    const found = isUnset ? [nothing] : await startupFindings(options)
    const findings = [...found, ...unreadVariables().slice(0, 10), await argon2Engine()]
    const isWrong = findings.some(({ level }) => level !== 'note')
    return {
      exit: isWrong ? exits.no : exits.done,
      lines: [
        ...(set.length > 0 ? [`Set: ${set.join(', ')}`] : []),
        ...findings.map(({ level, problem }) => `${level}: ${problem}`),
        ...(isWrong ? [] : ['Nothing is wrong.']),
      ],
      json: { findings },
    }
  },
}

const nothing: Finding = {
  level: 'warning',
  problem: 'none of the variables is set. Name the file that sets them: --env .env',
}

/** Variables with names like ours, which nothing reads. */
function unreadVariables(): Finding[] {
  return Object.keys(process.env)
    .filter((name) => ownStart.test(name) && !known.includes(name))
    .map((name) => {
      const start = name.replace('\ufeff', '').toUpperCase().slice(0, 12)
      const like = known.filter((each) => each.startsWith(start))
      const remedy = like.length > 0 ? ` Is one of these meant: ${like.join(', ')}?` : ''
      return { level: 'warning', problem: `${name} is not read.${remedy}` }
    })
}

async function argon2Engine(): Promise<Finding> {
  const { name } = (await findEngine()) ?? {}
  const none = `no engine with Node.js ${process.versions.node}. Only the algorithm argon2id needs one: npm install @node-rs/argon2`
  return { level: 'note', problem: `argon2: ${name === undefined ? none : `runs on ${name}.`}` }
}

async function startupFindings(options: KeyOptions): Promise<Finding[]> {
  const levels = new Map<string, Finding['level']>()
  const add = (level: Finding['level'], message: string): void =>
    void levels.set(inVariables(message), level)
  const fail = (error: unknown): void => add('error', startupError(error))
  const onWarning = ({ message }: Error): void => {
    if (message.startsWith('fastify-authn')) add('warning', message)
  }
  process.on('warning', onWarning)
  try {
    const method = await startApp(options)
    if (method !== undefined) {
      add('note', `the app must set jwt.signingMethod: '${method}', because the default is HS256.`)
    }
  } catch (error) {
    fail(error)
    for (const part of parts) {
      await startApp(part === 'KEYS' ? options : {}, alone(part)).catch(fail)
    }
  } finally {
    process.off('warning', onWarning)
  }
  return [...levels].map(([problem, level]) => ({ level, problem }))
}

/** Startup fails at the first error. To find the others, each part of the environment is also tried alone. */
const parts = ['KEYS', 'SECRET', 'EXPIRY', 'BASIC', 'BASIC_USERNAME', 'BASIC_PASSWORD']
for (const pair of ['_RSA_', '_ECDSA_', '_EDDSA_']) {
  parts.push(pair, `${pair}PUBLIC`, `${pair}(PRIVATE|PASSPHRASE)`)
}

/** The variables of a part, and sound ones for what startup may need beside it. */
function alone(part: string): Environment {
  const random = randomBytes(64).toString('base64url')
  const needed = part === 'KEYS' || part === 'BASIC' ? /^$/ : /SECRET|BASIC/
  const valueOf = (name: string) =>
    (name.match(part) && process.env[name]) || (needed.test(name) ? random : undefined)
  return Object.fromEntries(variables.map((name) => [name, valueOf(name)]))
}

/** @returns the signing method that fits the keys, where the app has to name it @throws what stops the startup */
async function startApp({ alg, keySet }: KeyOptions, part?: Environment) {
  const { default: Fastify } = await import('fastify')
  const { authn } = await loadPlugin()
  const { jwt, basic } = configFromEnv(part)
  const keys = keySet === undefined ? jwt : { ...jwt, keys: keySet }
  const method = keys && (alg ?? (part ? undefined : (await openService({ keySet })).method))
  const app = Fastify()
  try {
    await app.register(authn, {
      ...(keys && { userService: { findByUsername: Promise.resolve.bind(Promise, null) } }),
      ...(keys && { jwt: { ...keys, signingMethod: method } }),
      ...(basic && { basic }),
    })
    await app.ready()
  } finally {
    await app.close()
  }
  return alg === undefined && method !== 'HS256' ? method : undefined
}
