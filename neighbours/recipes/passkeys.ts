import {
  generateAuthenticationOptions,
  generateRegistrationOptions,
  verifyAuthenticationResponse,
  verifyRegistrationResponse,
  type AuthenticationResponseJSON,
  type RegistrationResponseJSON,
  type WebAuthnCredential,
} from '@simplewebauthn/server'
import Fastify, { type FastifyInstance, type FastifyReply } from 'fastify'
import { authn, basicAuthenticator, storedUser, type Sessions } from 'fastify-authn'

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
}

/** A row of your table of passkeys. Its `id` is unique, by an index of the database. */
export interface Passkey extends WebAuthnCredential {
  readonly accountId: number
}

/** Your queries. */
export interface Accounts {
  byId(id: number): Promise<Account | undefined>
  byEmail(email: string): Promise<Account | undefined>
  passkey(id: string): Promise<Passkey | undefined>
  passkeysOf(accountId: number): Promise<Passkey[]>
  /** Resolves to false if there is a passkey with this `id` already. */
  addPasskey(passkey: Passkey): Promise<boolean>
  setCounter(id: string, counter: number): Promise<void>
}

/** Challenges of the last five minutes: with Redis, `SET key 1 EX 300`, and `GETDEL key`. */
export interface Challenges {
  add(key: string): Promise<void>
  /** Removes the challenge. Resolves to whether it was there. */
  use(key: string): Promise<boolean>
}

export interface PasskeyOptions {
  readonly accounts: Accounts
  readonly challenges: Challenges
  /** Where your pages are: `https://shop.example`. */
  readonly origin: string
}

export async function buildApp(secret: string, options: PasskeyOptions): Promise<FastifyInstance> {
  const { accounts } = options
  const app = Fastify()
  await app.register(authn, {
    userService: {
      findByUsername: (name) =>
        typeof name === 'number' ? accounts.byId(name) : accounts.byEmail(name.toLowerCase()),
    },
    jwt: { secret },
    login: { subject: ({ id }) => id },
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
  await app.register(passkeyRoutes, options)
  return app
}

interface Tools extends PasskeyOptions {
  readonly app: FastifyInstance
  readonly sessions: Sessions
  /** The host that passkeys belong to. */
  readonly rpID: string
}

async function passkeyRoutes(app: FastifyInstance, options: PasskeyOptions): Promise<void> {
  const { origin } = options
  const { sessions } = app.authn
  // Prevents login CSRF. Browsers send `Origin` with every POST.
  app.addHook('onRequest', (request, reply, next) => {
    void reply.header('cache-control', 'no-store')
    const { origin: from = origin } = request.headers
    if (from === origin) next()
    else reply.code(403).send({ error: 'This page belongs to another site.' })
  })
  const tools = { ...options, app, sessions, rpID: new URL(origin).hostname }
  addPasskey(tools)
  logIn(tools)
}

function reject(reply: FastifyReply): FastifyReply {
  return reply.code(401).send({ error: 'This passkey was not accepted. Please try again.' })
}

/** The challenge that a response claims to answer. The library compares it with what was signed. */
function challengeIn({ response }: RegistrationResponseJSON | AuthenticationResponseJSON): string {
  try {
    const text = Buffer.from(response.clientDataJSON, 'base64url').toString()
    return String((JSON.parse(text) as { challenge?: unknown }).challenge)
  } catch {
    return ''
  }
}

/** The library throws for an invalid response. */
function unlessWrong<Result>(verification: Promise<Result>): Promise<Result | null> {
  return verification.catch(() => null)
}

const schema = {
  body: {
    type: 'object',
    properties: { id: { type: 'string', maxLength: 2000 }, response: { type: 'object' } },
    required: ['id', 'response'],
  },
}

function addPasskey({ app, accounts, challenges, origin, rpID }: Tools): void {
  // With the password, so that an attacker with an open session cannot add a key.
  app.post('/passkeys/options', { config: { auth: { use: 'password' } } }, async (request) => {
    const account = storedUser<Account>(request) as Account
    const options = await generateRegistrationOptions({
      rpName: 'Shop',
      rpID,
      userName: account.email,
      userID: new TextEncoder().encode(String(account.id)),
      excludeCredentials: (await accounts.passkeysOf(account.id)).map(({ id }) => ({ id })),
      authenticatorSelection: { residentKey: 'required', userVerification: 'required' },
    })
    await challenges.add(`passkey of ${account.id}: ${options.challenge}`)
    return options
  })

  app.post<{ Body: RegistrationResponseJSON }>(
    '/passkeys',
    { schema, config: { auth: true } },
    async (request, reply) => {
      const { body, user } = request
      const challenge = challengeIn(body)
      if (!(await challenges.use(`passkey of ${user.id}: ${challenge}`))) return reject(reply)
      const verified = await unlessWrong(
        verifyRegistrationResponse({
          response: body,
          expectedChallenge: challenge,
          expectedOrigin: origin,
          expectedRPID: rpID,
        }),
      )
      if (!verified?.verified) return reject(reply)
      const { credential } = verified.registrationInfo
      const isNew = await accounts.addPasskey({ ...credential, accountId: user.id })
      return isNew ? reply.code(204).send() : reject(reply)
    },
  )
}

function logIn({ app, accounts, challenges, origin, rpID, sessions }: Tools): void {
  app.post('/login/passkey/options', async () => {
    // Without a username: the browser offers the passkeys that it has for this host.
    const options = await generateAuthenticationOptions({ rpID, userVerification: 'required' })
    await challenges.add(`login: ${options.challenge}`)
    return options
  })

  app.post<{ Body: AuthenticationResponseJSON }>(
    '/login/passkey',
    { schema },
    async (request, reply) => {
      const { body } = request
      const challenge = challengeIn(body)
      if (!(await challenges.use(`login: ${challenge}`))) return reject(reply)
      const passkey = await accounts.passkey(body.id)
      if (passkey === undefined) return reject(reply)
      const verified = await unlessWrong(
        verifyAuthenticationResponse({
          response: body,
          expectedChallenge: challenge,
          expectedOrigin: origin,
          expectedRPID: rpID,
          credential: passkey,
        }),
      )
      if (!verified?.verified) return reject(reply)
      await accounts.setCounter(passkey.id, verified.authenticationInfo.newCounter)
      return sessions.begin(passkey.accountId, request, reply)
    },
  )
}
