import Fastify from 'fastify'
import t from 'tap'
import { redisApiKeys, sqlApiKeys } from '../../lib/api-keys/index.js'
import { authn, configBasicAuthenticator, type AuthnOptions } from '../../lib/index.js'
import { redisSessions, sqlSessions } from '../../lib/sessions/index.js'
import { encryptedPem } from '../helpers/keys.js'
import { keys } from '../helpers/tokens.js'

/** What `process.env.NAME` is where the variable is missing. */
const unset = undefined as never
const secret = 'Zk3rT9wYb6Nq1xVf8LmC4sHd7JpGa2Eu'
const ignore = () => undefined
const user = () => null
const base = { userService: { findByUsername: () => null }, jwt: { secret } }
const withSessions = { ...base, sessions: true, login: { subject: () => 'a' } }
const issuer = { issuer: 'https://id.example', audience: 'api', user }
const provider = { issuer: 'https://id.example', clientId: 'a', username: () => 'a' }
const accounts = { create: ignore, update: ignore, sendMail: ignore }
const encrypted = encryptedPem(keys.p256.privateKey)
const withKey = (key: object) => ({ ...base, jwt: { keys: [{ state: 'sign', kid: 'a', ...key }] } })
const withProvider = (more: object) => ({
  ...withSessions,
  cookies: true,
  loginWith: { corp: { ...provider, ...more } },
})

/** Options of which one is what a missing variable gives, by the name that the error has. */
const rows: [name: string, options: object][] = [
  ['jwt.secret', { ...base, jwt: { secret: unset } }],
  ['jwt.expiry', { ...base, jwt: { secret, expiry: Number(unset) } }],
  ['jwt.audience.0', { ...base, jwt: { secret, audience: [unset] } }],
  ['jwt.ecdsa.private', { ...base, jwt: { ecdsa: { private: encrypted, passphrase: unset } } }],
  ['jwt.ecdsa', { ...base, jwt: { ecdsa: { private: unset } } }],
  ['jwt.keys[0]', withKey({ alg: 'HS256', secret: unset })],
  ['jwt.keys[0].private', withKey({ alg: 'ES256', private: encrypted, passphrase: unset })],
  ['basic.username', { basic: { username: unset, password: 'a' } }],
  ['basic.password', { basic: { username: 'a', password: unset } }],
  ['issuers.kc', { issuers: { kc: unset } }],
  ['issuers.kc.issuer', { issuers: { kc: { ...issuer, issuer: unset } } }],
  ['issuers.kc.issuer', { issuers: { kc: { ...issuer, issuer: `${String(unset)}/realms/a` } } }],
  ['issuers.kc.audience', { issuers: { kc: { ...issuer, audience: unset } } }],
  ['issuers.kc.audience.0', { issuers: { kc: { ...issuer, audience: [unset] } } }],
  ['loginWith.corp.issuer', withProvider({ issuer: unset })],
  ['loginWith.corp.clientId', withProvider({ clientId: unset })],
  ['loginWith.corp.clientSecret', withProvider({ clientSecret: unset })],
  ['accounts.url', { ...withSessions, accounts: { ...accounts, url: unset } }],
  ['accounts.url', { ...withSessions, accounts: { ...accounts, url: `${String(unset)}/a` } }],
  ['cookies.trustedOrigins.0', { ...base, cookies: { trustedOrigins: [unset] } }],
  ['cookies.trustedOrigins.0', { ...base, cookies: { trustedOrigins: [String(unset)] } }],
  ['throttle.perUsername', { ...base, throttle: { perUsername: Number(unset) } }],
  [
    'throttle.keyPrefix',
    { ...base, throttle: { redis: { defineCommand: ignore, multi: ignore }, keyPrefix: unset } },
  ],
  ['credentialCache.max', { ...base, credentialCache: { max: Number(unset) } }],
  ['hashing.cost', { ...base, hashing: { cost: Number(unset) } }],
  ['apiKeys.prefix', { ...base, apiKeys: { prefix: unset, store: unset } }],
  ['sessions.lifetime', { ...base, sessions: { lifetime: Number(unset) } }],
  ['scope', { ...base, auth: { scope: unset } }],
]

t.test('startup asks whether the variable is set where an option is undefined', async (t) => {
  for (const [name, options] of rows) {
    const app = Fastify()
    t.teardown(() => app.close())
    const message = /\bvariable\b[^?]*\bset\?/
    const starting = async () => app.register(authn, options as AuthnOptions).ready()
    const error = await starting().catch((error: unknown) => error)
    t.match(error, { code: /^ERR_AUTH_/, message }, name)
    t.ok((error as Error).message.includes(name === 'jwt.secret' ? name : `"${name}"`), name)
  }
})

t.test('functions ask whether the variable of an undefined argument is set', async (t) => {
  const redis = { evalsha: ignore, eval: ignore, duplicate: ignore } as never
  const query = () => Promise.resolve({ rows: [] })
  for (const call of [
    () => configBasicAuthenticator({ username: 'a', password: unset }),
    () => redisSessions(redis, { prefix: unset }),
    () => redisApiKeys(redis, { prefix: unset }),
    () => sqlSessions({ query, prefix: unset }),
    () => sqlApiKeys({ query, prefix: unset }),
  ]) {
    t.throws(call, { code: 'ERR_AUTH_OPTION', message: /undefined \(is its variable set\?\)/ })
  }
})

t.test('errors about a member that was left out do not ask for a variable', async (t) => {
  for (const options of [
    { issuers: { kc: { user, audience: 'api' } } },
    { ...base, apiKeys: {} },
    { userService: { findByUsername: undefined } },
  ]) {
    const app = Fastify()
    t.teardown(() => app.close())
    const starting = async () => app.register(authn, options as unknown as AuthnOptions).ready()
    const error = (await starting().catch((error: unknown) => error)) as Error
    t.match(error.message, 'found nothing')
    t.notMatch(error.message, 'variable')
  }
})

t.test('an entry of hashing.migrateFrom that is none is told what an entry has', async (t) => {
  for (const entry of ['bcrypt', 5, null, [], () => null]) {
    const app = Fastify()
    t.teardown(() => app.close())
    const options = { ...base, hashing: { migrateFrom: [entry] } } as unknown as AuthnOptions
    const message = /"hashing\.migrateFrom\.0": found .*algorithm.*pattern, verify, sample/
    await t.rejects(async () => app.register(authn, options).ready(), { message })
  }
})
