// A login with a provider in memory, and what it is compared with: see README.md. Processor time of this process for
// requests by inject(), in turn.
import Fastify, { type LightMyRequestResponse } from 'fastify'
import { authn } from '../lib/index.js'
import { forge, keyOf } from '../lib/testing/forge.js'
import { testingOf } from '../lib/testing/plugin.js'
import type { LoginWithTesting } from '../lib/login-with/feature.js'
import { numberFlags } from './support/flags.js'
import { median, printTable } from './support/report.js'

const flags = numberFlags({ rounds: 15, requests: 200 })
const [issuer, kid] = ['https://id.example.com', 'first']
const app = Fastify()
await app.register(authn, {
  userService: { findByUsername: (name) => ({ name: String(name), password: null }) },
  jwt: { secret: 'Zk3rT9wYb6Nq1xVf8LmC4sHd7JpGa2Eu' },
  sessions: true,
  cookies: true,
  loginWith: { corp: { issuer, clientId: 'shop', username: ({ sub }) => sub } },
})
await app.ready()

const { privateKey, publicKey } = keyOf('issuer', 'ES256')
const documents: Readonly<Record<string, object>> = {
  '/.well-known/openid-configuration': {
    issuer,
    authorization_endpoint: `${issuer}/authorize`,
    token_endpoint: `${issuer}/token`,
    jwks_uri: `${issuer}/keys`,
    id_token_signing_alg_values_supported: ['ES256'],
  },
  '/keys': { keys: [{ ...publicKey.export({ format: 'jwk' }), kid, alg: 'ES256', use: 'sig' }] },
}
const idTokens = new Map<string, string>()
const testing = testingOf<LoginWithTesting>(app, 'loginWith')
testing?.get('corp')?.provider.replace(async ({ pathname }, { body }) => {
  const code = String((body as URLSearchParams | null)?.get('code'))
  const tokens = { access_token: 'x', token_type: 'Bearer', id_token: idTokens.get(code) }
  return Response.json(documents[pathname] ?? tokens)
})

const cookiesOf = ({ cookies }: LightMyRequestResponse): string =>
  cookies.map(({ name, value }) => `${name}=${value}`).join('; ')

/** Begins a login of a new user. @returns the request that ends it */
async function begin(code: string) {
  const response = await app.inject('/login/corp')
  const { searchParams: asked } = new URL(String(response.headers.location))
  const now = Math.floor(Date.now() / 1000)
  const nonce = asked.get('nonce')
  const claims = { iss: issuer, aud: 'shop', sub: `user ${code}`, nonce, iat: now, exp: now + 300 }
  idTokens.set(code, forge({ alg: 'ES256', kid }, claims, 'ES256', privateKey))
  const url = `/login/corp/callback?state=${asked.get('state')}&code=${code}`
  return { url, headers: { cookie: cookiesOf(response) } }
}

const bare = Fastify()
const like = (await app.inject('/login/corp')).headers
bare.get('/login/corp', (_, reply) => {
  void reply.header('cache-control', 'no-store').header('referrer-policy', 'no-referrer')
  return reply.header('set-cookie', like['set-cookie']).redirect(String(like.location), 303)
})

const times: Record<string, number[]> = { bare: [], start: [], callback: [], refresh: [] }
/** Adds the microseconds of processor time of one of several requests, each with its status. */
async function measure(
  name: string,
  requests: (() => Promise<{ statusCode: number }>)[],
  status: number,
): Promise<void> {
  const before = process.cpuUsage()
  for (const request of requests) {
    const { statusCode } = await request()
    if (statusCode !== status) throw new Error(`${name}: ${statusCode}`)
  }
  const { user, system } = process.cpuUsage(before)
  times[name]?.push((user + system) / requests.length)
}

for (let round = 0; round < flags.rounds; round += 1) {
  const codes = Array.from({ length: flags.requests }, (_, index) => `${round}-${index}`)
  await measure(
    'bare',
    codes.map(() => () => bare.inject('/login/corp')),
    303,
  )
  await measure(
    'start',
    codes.map(() => () => app.inject('/login/corp')),
    303,
  )
  const callbacks = await Promise.all(codes.map(begin))
  const logins: LightMyRequestResponse[] = []
  const ends = callbacks.map((each) => async () => {
    const response = await app.inject(each)
    logins.push(response)
    return response
  })
  await measure('callback', ends, 303)
  const refreshes = logins.map((login) => () => {
    const headers = { cookie: cookiesOf(login) }
    return app.inject({ method: 'POST', url: '/login/refresh', headers })
  })
  await measure('refresh', refreshes, 200)
}
await Promise.all([app.close(), bare.close()])
const [ofBare = 0, ofStart = 0, ofCallback = 0, ofRefresh = 0] = Object.values(times).map(median)
const rows = Object.entries(times).map(([name, all]) => [name, median(all).toFixed(0)])
printTable([['request', 'µs of processor time for inject()'], ...rows])
console.log(`bare / start: ${(ofBare / ofStart).toFixed(2)}`)
console.log(`callback / refresh: ${(ofCallback / ofRefresh).toFixed(2)}`)
