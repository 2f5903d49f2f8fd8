import { createHash } from 'node:crypto'
import rateLimit from '@fastify/rate-limit'
import Fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify'
import { authn, basicAuthenticator, hashPassword, storedUser, type Sessions } from 'fastify-authn'

declare module 'fastify-authn' {
  interface AuthUser {
    id: number
    email: string
  }
}

/** A row of your table of accounts. */
export interface Account {
  readonly id: number
  /** Unique, by an index of the database. */
  readonly email: string
  /** The bcrypt hash. */
  readonly password: string
  readonly tokensValidAfter: Date | null
}

/** Your queries. */
export interface Accounts {
  byId(id: number): Promise<Account | undefined>
  byEmail(email: string): Promise<Account | undefined>
  /** Resolves to undefined if the address is taken. */
  insert(email: string, password: string): Promise<Account | undefined>
  /** Resolves to false if the email or the password is no longer that of `before`, or if the new address is taken. */
  update(before: Account, change: Partial<Account>): Promise<boolean>
}

export interface AccountOptions {
  readonly accounts: Accounts
  /** Where your pages are: `https://shop.example`. */
  readonly origin: string
  /** Sends an e-mail. `link` is the address of the button in it. */
  sendMail(kind: string, to: string, link?: string): Promise<void>
}

export async function buildApp(secret: string, options: AccountOptions): Promise<FastifyInstance> {
  const { accounts } = options
  const app = Fastify()
  await app.register(authn, {
    userService: {
      // Tokens have the id; people type their address.
      findByUsername: (name) =>
        typeof name === 'number' ? accounts.byId(name) : accounts.byEmail(spelled(name)),
    },
    jwt: { secret, validAfterField: 'tokensValidAfter' },
    login: { usernameField: 'email', subject: ({ id }) => id },
    sessions: true,
    cookies: true,
    authenticators: {
      currentPassword: {
        ...basicAuthenticator(),
        // The challenge of Basic would make browsers show their own password dialog.
        onUnauthorized: (_error, _request, reply) => void reply.removeHeader('www-authenticate'),
      },
    },
  })
  await app.register(accountRoutes, options)
  return app
}

const spelled = (email: string): string => email.trim().toLowerCase()

type Purpose = 'sign-up' | 'reset' | 'new-email'

class Links {
  constructor(
    private readonly app: FastifyInstance,
    private readonly options: AccountOptions,
  ) {}

  make(purpose: Purpose, claims: object): string {
    const exp = Math.floor(Date.now() / 1000) + 3600
    const typ = `${purpose}+jwt`
    const token = this.app.jwtService.generateTokenWithClaims({ ...claims, exp }, undefined, {
      typ,
    })
    // Browsers do not send what follows the #, so the token is in no server log and no Referer header.
    return `${this.options.origin}/${purpose}#${token}`
  }

  /** A link that works until the address or the password of the account changes. */
  makeFor(account: Account, purpose: Purpose, claims: object = {}): string {
    return this.make(purpose, { ...claims, sub: account.id, state: stateOf(account) })
  }

  /** The claims of a token; null if it has another purpose, has expired, or is not ours. */
  read(purpose: Purpose, token: string) {
    try {
      return this.app.jwtService.verify(token, undefined, { typ: `${purpose}+jwt` })
    } catch {
      return null
    }
  }

  /** The account and the claims of a token from {@link makeFor}; null if it was used. */
  async open(purpose: Purpose, token: string) {
    const claims = this.read(purpose, token)
    if (typeof claims?.sub !== 'number') return null
    const account = await this.options.accounts.byId(claims.sub)
    return account !== undefined && claims.state === stateOf(account) ? { account, claims } : null
  }
}

function stateOf({ email, password }: Account): string {
  const text = JSON.stringify([email, password])
  return createHash('sha256').update(text).digest('base64url')
}

function rejectLink(reply: FastifyReply): FastifyReply {
  return reply.code(400).send({ error: 'This link is not valid any more. Ask for another one.' })
}

interface Tools extends AccountOptions {
  readonly app: FastifyInstance
  readonly sessions: Sessions
  readonly links: Links
  mailLater(request: FastifyRequest, reply: FastifyReply, work: () => Promise<void>): FastifyReply
  /** Resolves to false if the account has changed in the meantime. */
  setPassword(account: Account, password: string, request: FastifyRequest): Promise<boolean>
}

async function accountRoutes(app: FastifyInstance, options: AccountOptions): Promise<void> {
  const { accounts, origin, sendMail } = options
  const { sessions } = app.authn

  // For each client, on all of these routes together.
  await app.register(rateLimit, { max: 30, timeWindow: '15 minutes' })
  // For the e-mails to each address, from all clients together.
  const limitMails = app.createRateLimit({
    max: 3,
    timeWindow: '1 hour',
    keyGenerator: ({ body }) => `email to ${spelled((body as Email).email)}`,
  })

  // Prevents login CSRF. Browsers send `Origin` with every POST.
  app.addHook('onRequest', (request, reply, next) => {
    const { origin: from = origin } = request.headers
    if (from === origin) next()
    else reply.code(403).send({ error: 'This page belongs to another site.' })
  })
  // bcrypt would ignore what comes after 72 bytes.
  app.addHook('preHandler', ({ body }, reply, next) => {
    const { password = '' } = (body ?? {}) as Partial<Password>
    if (Buffer.byteLength(password) <= 72) next()
    else reply.code(400).send({ error: 'A password has at most 72 bytes.' })
  })

  const tools: Tools = {
    ...options,
    app,
    sessions,
    links: new Links(app, options),
    mailLater(request, reply, work) {
      const send = async (): Promise<void> => {
        const limit = await limitMails(request)
        if (limit.isAllowed || !limit.isExceeded) await work()
      }
      inBackground(request, send())
      // Sent before the address is looked up, and the same for every address.
      return reply.code(202).send({})
    },
    async setPassword(account, password, request) {
      const change = { password: await hashPassword(password), tokensValidAfter: new Date() }
      if (!(await accounts.update(account, change))) return false
      inBackground(request, sendMail('password-changed', account.email))
      await sessions.revoke({ sub: account.id })
      return true
    },
  }
  signUp(tools)
  resetPassword(tools)
  changePassword(tools)
  changeEmail(tools)
}

function inBackground({ log }: FastifyRequest, sent: Promise<void>): void {
  sent.catch((error: unknown) => log.error({ err: error }, 'An e-mail was not sent'))
}

interface Email {
  readonly email: string
}

interface Password {
  readonly password: string
}

interface Token {
  readonly token: string
}

const email = { type: 'string', format: 'email', maxLength: 254 }
const password = { type: 'string', minLength: 12 }
const token = { type: 'string', maxLength: 2000 }

/** The schema of a body that has all of these. */
function body(properties: object): { body: object } {
  return { body: { type: 'object', properties, required: Object.keys(properties) } }
}

function signUp({ app, accounts, links, mailLater, sendMail, sessions }: Tools): void {
  app.post<{ Body: Email }>('/sign-up', { schema: body({ email }) }, (request, reply) =>
    mailLater(request, reply, async () => {
      const address = spelled(request.body.email)
      const account = await accounts.byEmail(address)
      if (account === undefined) {
        await sendMail('sign-up', address, links.make('sign-up', { email: address }))
      } else {
        await sendMail('has-account', account.email, links.makeFor(account, 'reset'))
      }
    }),
  )

  app.post<{ Body: Token & Password }>(
    '/sign-up/finish',
    { schema: body({ token, password }) },
    async (request, reply) => {
      const claims = links.read('sign-up', request.body.token)
      if (typeof claims?.email !== 'string') return rejectLink(reply)
      if ((await accounts.byEmail(claims.email)) !== undefined) return rejectLink(reply)
      const hash = await hashPassword(request.body.password)
      const account = await accounts.insert(claims.email, hash)
      if (account === undefined) return rejectLink(reply)
      return sessions.begin(account.id, request, reply)
    },
  )
}

function resetPassword({ app, accounts, links, mailLater, sendMail, setPassword }: Tools): void {
  app.post<{ Body: Email }>('/reset', { schema: body({ email }) }, (request, reply) =>
    mailLater(request, reply, async () => {
      const account = await accounts.byEmail(spelled(request.body.email))
      // To the stored address, never to the typed one: a database may consider both equal.
      if (account) await sendMail('reset', account.email, links.makeFor(account, 'reset'))
    }),
  )

  app.post<{ Body: Token & Password }>(
    '/reset/finish',
    { schema: body({ token, password }) },
    async (request, reply) => {
      const opened = await links.open('reset', request.body.token)
      if (opened === null) return rejectLink(reply)
      const isSet = await setPassword(opened.account, request.body.password, request)
      return isSet ? reply.code(204).send() : rejectLink(reply)
    },
  )
}

function changePassword({ app, sessions, setPassword }: Tools): void {
  app.post<{ Body: Password }>(
    '/password',
    { schema: body({ password }), config: { auth: { use: 'currentPassword' } } },
    async (request, reply) => {
      const account = storedUser<Account>(request)
      if (account === null || !(await setPassword(account, request.body.password, request))) {
        return reply.code(409).send({ error: 'Your account has changed in the meantime.' })
      }
      return sessions.begin(account.id, request, reply)
    },
  )
}

function changeEmail({ app, accounts, links, mailLater, sendMail }: Tools): void {
  app.post<{ Body: Email }>(
    '/email',
    { schema: body({ email }), config: { auth: { use: 'currentPassword' } } },
    (request, reply) =>
      mailLater(request, reply, async () => {
        const account = storedUser<Account>(request)
        const address = spelled(request.body.email)
        if (account === null || (await accounts.byEmail(address)) !== undefined) return
        const link = links.makeFor(account, 'new-email', { email: address })
        await sendMail('new-email', address, link)
      }),
  )

  app.post<{ Body: Token }>(
    '/email/finish',
    { schema: body({ token }), config: { auth: true } },
    async (request, reply) => {
      const opened = await links.open('new-email', request.body.token)
      if (opened === null || opened.account.id !== request.user.id) return rejectLink(reply)
      const { account, claims } = opened
      if (!(await accounts.update(account, { email: String(claims.email) }))) {
        return rejectLink(reply)
      }
      inBackground(request, sendMail('email-changed', account.email))
      return reply.code(204).send()
    },
  )
}
