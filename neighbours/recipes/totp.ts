import { createHash, randomBytes } from 'node:crypto'
import Fastify, { type FastifyInstance, type FastifyReply } from 'fastify'
import { authn, basicAuthenticator, storedUser, type Sessions } from 'fastify-authn'
import { TOTP } from 'otpauth'
import { RateLimiterMemory } from 'rate-limiter-flexible'

declare module 'fastify-authn' {
  interface AuthUser {
    id: number
  }
}

/** A row of your table of accounts. */
export interface Account {
  readonly id: number
  readonly email: string
  /** The bcrypt hash. */
  readonly password: string
  /** In Base32; null without a second factor. */
  readonly totpSecret: string | null
}

/** Your queries. The last four resolve to whether they changed a row. */
export interface Accounts {
  byId(id: number): Promise<Account | undefined>
  byEmail(email: string): Promise<Account | undefined>
  /** Stores all of this if the account has no secret. */
  enable(id: number, secret: string, step: number, recoveryDigests: string[]): Promise<boolean>
  /** Removes the secret and the recovery codes. */
  disable(id: number): Promise<boolean>
  /** `UPDATE accounts SET totp_step = $2 WHERE id = $1 AND totp_step < $2` */
  useStep(id: number, step: number): Promise<boolean>
  /** `DELETE FROM recovery_codes WHERE account = $1 AND digest = $2` */
  useRecoveryCode(id: number, digest: string): Promise<boolean>
}

export interface TotpOptions {
  readonly accounts: Accounts
  /** Where your pages are: `https://shop.example`. */
  readonly origin: string
  readonly now?: () => number
}

export async function buildApp(secret: string, options: TotpOptions): Promise<FastifyInstance> {
  const { accounts } = options
  const app = Fastify()
  await app.register(authn, {
    userService: {
      findByUsername: (name) =>
        typeof name === 'number' ? accounts.byId(name) : accounts.byEmail(name.toLowerCase()),
    },
    jwt: { secret },
    // Without POST /login, which would begin a session with the password alone.
    login: { subject: ({ id }) => id, passwords: false },
    sessions: true,
    cookies: true,
    authenticators: {
      password: {
        ...basicAuthenticator(),
        // The challenge of Basic would make browsers show their own password dialog.
        onUnauthorized: (_error, _request, reply) => void reply.removeHeader('www-authenticate'),
      },
    },
  })
  await app.register(totpRoutes, options)
  return app
}

type Purpose = 'second-factor' | 'totp-setup'

class Tickets {
  constructor(
    private readonly app: FastifyInstance,
    private readonly accounts: Accounts,
  ) {}

  make(purpose: Purpose, account: Account, claims: object = {}): string {
    const exp = Math.floor(Date.now() / 1000) + 600
    const all = { ...claims, sub: account.id, state: stateOf(account), exp }
    return this.app.jwtService.generateTokenWithClaims(all, undefined, { typ: `${purpose}+jwt` })
  }

  /** Null for any other token, and if the password or the second factor has changed. */
  async open(purpose: Purpose, token: string) {
    const claims = this.#read(purpose, token)
    const account = claims === null ? undefined : await this.accounts.byId(Number(claims.sub))
    return account && claims?.state === stateOf(account) ? { account, claims } : null
  }

  #read(purpose: Purpose, token: string) {
    try {
      return this.app.jwtService.verify(token, undefined, { typ: `${purpose}+jwt` })
    } catch {
      return null
    }
  }
}

function stateOf({ password, totpSecret }: Account): string {
  return digestOf(JSON.stringify([password, totpSecret]))
}

function digestOf(text: string): string {
  return createHash('sha256').update(text).digest('base64url')
}

type Outcome = 'right' | 'wrong' | 'too many'

class Codes {
  /** Per account, from all addresses together: clients that get here know the password. */
  readonly #attempts = new RateLimiterMemory({ points: 5, duration: 900 })

  constructor(
    private readonly accounts: Accounts,
    private readonly now: () => number,
  ) {}

  /** The time step of a code, which may be the one before or after, since clocks differ. Null for a wrong code. */
  stepOf(secret: string, code: string): number | null {
    const totp = new TOTP({ secret })
    const timestamp = this.now()
    const delta = totp.validate({ token: code, timestamp, window: 1 })
    return delta === null ? null : totp.counter({ timestamp }) + delta
  }

  /** Each code works only once. */
  async check({ id, totpSecret }: Account, code: string): Promise<Outcome> {
    try {
      // Counted before the code is checked, so that simultaneous guesses count too.
      await this.#attempts.consume(id)
    } catch (rejected) {
      if (rejected instanceof Error) throw rejected
      return 'too many'
    }
    if (totpSecret === null || !(await this.#use(id, totpSecret, code))) return 'wrong'
    await this.#attempts.reward(id)
    return 'right'
  }

  async #use(id: number, secret: string, code: string): Promise<boolean> {
    if (!/^\d{6}$/.test(code)) return this.accounts.useRecoveryCode(id, recoveryDigest(code))
    const step = this.stepOf(secret, code)
    return step !== null && this.accounts.useStep(id, step)
  }
}

/** 80 random bits, such as `4f9c-0a1b-77d2-e6f0-35c8`. */
function newRecoveryCode(): string {
  return randomBytes(10)
    .toString('hex')
    .replaceAll(/(.{4})(?=.)/g, '$1-')
}

function recoveryDigest(code: string): string {
  return digestOf(code.toLowerCase().replaceAll(/[^0-9a-f]/g, ''))
}

function rejectCode(reply: FastifyReply, outcome: 'wrong' | 'too many'): FastifyReply {
  return outcome === 'wrong'
    ? reply.code(401).send({ error: 'This code is wrong, or was used before.' })
    : reply.code(429).send({ error: 'Too many wrong codes. Try again in 15 minutes.' })
}

interface Tools {
  readonly app: FastifyInstance
  readonly accounts: Accounts
  readonly sessions: Sessions
  readonly tickets: Tickets
  readonly codes: Codes
}

async function totpRoutes(
  app: FastifyInstance,
  { accounts, origin, now = Date.now }: TotpOptions,
): Promise<void> {
  const { sessions } = app.authn
  // Prevents login CSRF. Browsers send `Origin` with every POST.
  app.addHook('onRequest', (request, reply, next) => {
    void reply.header('cache-control', 'no-store')
    const { origin: from = origin } = request.headers
    if (from === origin) next()
    else reply.code(403).send({ error: 'This page belongs to another site.' })
  })
  const codes = new Codes(accounts, now)
  const tools = { app, accounts, sessions, codes, tickets: new Tickets(app, accounts) }
  logIn(tools)
  setUp(tools)
}

interface Answer {
  readonly token: string
  readonly code: string
}

const token = { type: 'string', maxLength: 2000 }
const code = { type: 'string', minLength: 6, maxLength: 40 }
const answer = { type: 'object', properties: { token, code }, required: ['token', 'code'] }
const codeOnly = { type: 'object', properties: { code }, required: ['code'] }
const byPassword = { auth: { use: 'password' } }

function logIn({ app, codes, sessions, tickets }: Tools): void {
  app.post('/login/password', { config: byPassword }, async (request, reply) => {
    const account = storedUser<Account>(request) as Account
    return account.totpSecret === null
      ? sessions.begin(account.id, request, reply)
      : { secondFactor: tickets.make('second-factor', account) }
  })

  app.post<{ Body: Answer }>(
    '/login/code',
    { schema: { body: answer } },
    async (request, reply) => {
      const opened = await tickets.open('second-factor', request.body.token)
      if (opened === null) return reply.code(401).send({ error: 'Please log in again.' })
      const outcome = await codes.check(opened.account, request.body.code)
      if (outcome !== 'right') return rejectCode(reply, outcome)
      return sessions.begin(opened.account.id, request, reply)
    },
  )
}

function setUp({ app, accounts, codes, tickets }: Tools): void {
  app.post('/totp', { config: byPassword }, async (request, reply) => {
    const account = storedUser<Account>(request) as Account
    if (account.totpSecret !== null)
      return reply.code(409).send({ error: 'Two-factor authentication is already on.' })
    const totp = new TOTP({ issuer: 'Shop', label: account.email })
    const ticket = tickets.make('totp-setup', account, { secret: totp.secret.base32 })
    // For the QR code of your page.
    return { uri: totp.toString(), token: ticket }
  })

  app.post<{ Body: Answer }>(
    '/totp/confirm',
    { schema: { body: answer }, config: { auth: true } },
    async (request, reply) => {
      const opened = await tickets.open('totp-setup', request.body.token)
      if (opened === null || opened.account.id !== request.user.id) {
        return reply.code(401).send({ error: 'Please begin again.' })
      }
      const secret = String(opened.claims.secret)
      const step = codes.stepOf(secret, request.body.code)
      if (step === null) return rejectCode(reply, 'wrong')
      const recoveryCodes = Array.from({ length: 10 }, newRecoveryCode)
      const digests = recoveryCodes.map(recoveryDigest)
      if (!(await accounts.enable(opened.account.id, secret, step, digests))) {
        return reply.code(409).send({ error: 'Two-factor authentication is already on.' })
      }
      // Shown once, to be printed.
      return { recoveryCodes }
    },
  )

  app.post<{ Body: Pick<Answer, 'code'> }>(
    '/totp/off',
    { schema: { body: codeOnly }, config: byPassword },
    async (request, reply) => {
      const account = storedUser<Account>(request) as Account
      const outcome = await codes.check(account, request.body.code)
      if (outcome !== 'right') return rejectCode(reply, outcome)
      await accounts.disable(account.id)
      return reply.code(204).send()
    },
  )
}
