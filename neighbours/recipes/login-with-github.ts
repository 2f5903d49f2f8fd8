import oauth2, { type OAuth2Namespace, type ProviderConfiguration } from '@fastify/oauth2'
import Fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify'
import { authn } from 'fastify-authn'

declare module 'fastify' {
  interface FastifyInstance {
    github: OAuth2Namespace
  }
}

/** A row of your table of accounts. */
export interface Account {
  readonly id: number
  /** Unique, by an index of the database. */
  readonly githubId: number
  /** For display only: people can change it on GitHub, and others can take it then. */
  readonly name: string
}

/** Your queries. */
export interface Accounts {
  byId(id: number): Promise<Account | undefined>
  byGithubId(githubId: number): Promise<Account | undefined>
  /** `INSERT … ON CONFLICT (github_id) DO UPDATE SET name = … RETURNING …` */
  create(githubId: number, name: string): Promise<Account>
}

export interface GithubOptions {
  readonly accounts: Accounts
  /** Where your pages are: `https://shop.example`. */
  readonly origin: string
  /** Of the OAuth app that you have registered on GitHub. */
  readonly client: { readonly id: string; readonly secret: string }
  readonly github?: { readonly auth: ProviderConfiguration; readonly userUrl: string }
}

export async function buildApp(secret: string, options: GithubOptions): Promise<FastifyInstance> {
  const { accounts, origin, client } = options
  const {
    auth = oauth2.fastifyOauth2.GITHUB_CONFIGURATION,
    userUrl = 'https://api.github.com/user',
  } = options.github ?? {}
  const app = Fastify()
  await app.register(authn, {
    // The name in tokens is the id.
    userService: { findByUsername: (id) => accounts.byId(Number(id)) },
    jwt: { secret },
    login: { passwords: false },
    sessions: true,
    cookies: true,
  })
  await app.register(oauth2, {
    name: 'github',
    credentials: { client, auth, http: { timeout: 5000 } },
    startRedirectPath: '/login/github',
    callbackUri: `${origin}/login/github/callback`,
    pkce: 'S256',
    // No other host can set such cookies, and they require TLS.
    hostPrefixedCookies: origin.startsWith('https:'),
    cookie: { path: '/', maxAge: 600 },
  })
  callbackRoute(app, accounts, userUrl)
  return app
}

function callbackRoute(app: FastifyInstance, accounts: Accounts, userUrl: string): void {
  app.get('/login/github/callback', async (request, reply) => {
    const user = await githubUser(app, userUrl, request, reply)
    if (user === null) return reply.redirect('/login?failed=github')
    const known = await accounts.byGithubId(user.id)
    const account = known ?? (await accounts.create(user.id, user.login))
    await app.authn.sessions.begin(account.id, request, reply)
    return reply.redirect('/')
  })
}

interface GithubUser {
  readonly id: number
  readonly login: string
}

/** Null if the login was not started in this browser, the user has refused, or GitHub fails. */
async function githubUser(
  { github }: FastifyInstance,
  userUrl: string,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<GithubUser | null> {
  try {
    // Compares the state with the cookie, and sends the code with the verifier of the other cookie.
    const { token } = await github.getAccessTokenFromAuthorizationCodeFlow(request, reply)
    // For a wrong code, GitHub answers 200 without a token.
    if (typeof token.access_token !== 'string') throw new Error('GitHub rejected the code')
    const response = await fetch(userUrl, {
      headers: { authorization: `Bearer ${token.access_token}`, 'user-agent': 'shop.example' },
      signal: AbortSignal.timeout(5000),
    })
    if (!response.ok) throw new Error(`GitHub answers ${response.status}`)
    const { id, login } = (await response.json()) as Partial<GithubUser>
    if (!Number.isSafeInteger(id)) throw new Error('GitHub has sent no id')
    return { id: Number(id), login: String(login) }
  } catch (error) {
    // Only the message: the error may contain the request, with the client secret.
    request.log.warn({ reason: (error as Error).message }, 'A login with GitHub failed')
    return null
  }
}
