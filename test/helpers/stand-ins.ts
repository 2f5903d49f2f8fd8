import { createHash, createPublicKey, generateKeyPairSync, randomUUID, verify } from 'node:crypto'
import type { Test } from 'tap'
import { forge } from '../../lib/testing/forge.js'
import {
  apple,
  discord,
  facebook,
  github,
  gitlab,
  google,
  linkedin,
  microsoft,
  slack,
  spotify,
  twitch,
  x,
} from '../../lib/providers/index.js'
import { goodKey } from './issuer.js'
import { epochSeconds, keys } from './tokens.js'

type Json = Record<string, unknown>
type Reply = readonly [status: number, body: Json | string]

/** What a provider does in its own way. Addresses are those of the real ones, to which no request goes. */
export interface StandIn {
  readonly entry: (more: object) => object
  /** `iss` of tokens and identities. */
  readonly issuer: string
  readonly authorize: string
  readonly token: string
  /** Default: the issuer has no ID tokens. */
  readonly keys?: string
  /** Whether the metadata are fetched. */
  readonly hasMetadata?: boolean
  readonly auth: 'basic' | 'post' | 'either'
  readonly scope: string
  readonly pkce: 'checked' | 'ignored' | 'rejected'
  /** `iss` of the callback. */
  readonly iss?: string
  readonly hasForm?: boolean
  /** More members of the token response. */
  readonly more?: Json
  /** For a code that was used or is not known, or another redirect URI. */
  readonly badCode: Reply
  readonly badClient: Reply
  /** The status of the app's response to {@link badClient}, where that is no 503. */
  readonly onBadClient?: number
  readonly cancelled: string
  /** The claims of an ID token, or what the API has, by its address. */
  readonly user: Json
  /** What `username` gets of it. */
  readonly claims: Json
  /** Changes of the user, and what becomes of the e-mail then. */
  readonly unverified: readonly (readonly [user: Json, email: unknown])[]
}

const pair = generateKeyPairSync('ec', { namedCurve: 'P-256' })
const privateKey = pair.privateKey.export({ type: 'pkcs8', format: 'pem' })
const tid = '0a1b2c3d-0000-4000-8000-00000000000a'
const email = 'alice@example.com'
const verified = { email, email_verified: true }
const grant = [400, { error: 'invalid_grant', error_description: 'no such code' }] as const
const client = [401, { error: 'invalid_client' }] as const
const secret = { clientId: 'the-client', clientSecret: 'the secret: +/%' }
const ms = 'https://login.microsoftonline.com'

/** All that OpenID providers have in common. */
const openid = {
  hasMetadata: true,
  auth: 'either',
  scope: 'openid profile email',
  pkce: 'checked',
  badCode: grant,
  badClient: client,
  cancelled: 'access_denied',
} as const
const oauth = {
  pkce: 'checked',
  badCode: grant,
  badClient: client,
  cancelled: 'access_denied',
} as const

const ofMicrosoft = {
  ...openid,
  hasMetadata: false,
  user: { sub: 'a', tid, email, xms_edov: true },
  claims: { sub: 'a', tid, ...verified },
  unverified: [
    [{ xms_edov: undefined, email_verified: true }, false],
    [{ xms_edov: false }, false],
    [{ xms_edov: '0' }, false],
    [{ xms_edov: 1 }, true],
    [{ xms_edov: '1' }, true],
  ],
} as const
const ofTenant = (tenant: string, at: string) => ({
  ...ofMicrosoft,
  issuer: `${ms}/${at}/v2.0`,
  authorize: `${ms}/${tenant}/oauth2/v2.0/authorize`,
  token: `${ms}/${tenant}/oauth2/v2.0/token`,
  keys: `${ms}/${tenant}/discovery/v2.0/keys`,
})
const personal = '9188040d-6c67-4c5b-b112-36a304b66dad'

export const standIns: Readonly<Record<string, StandIn>> = {
  google: {
    ...openid,
    entry: (more) => google({ ...secret, ...more }),
    issuer: 'https://accounts.google.com',
    authorize: 'https://accounts.google.com/o/oauth2/v2/auth',
    token: 'https://oauth2.googleapis.com/token',
    keys: 'https://www.googleapis.com/oauth2/v3/certs',
    user: { sub: '110169484474386276334', ...verified, name: 'Alice' },
    claims: { sub: '110169484474386276334', ...verified, name: 'Alice' },
    unverified: [[{ email_verified: false }, false]],
  },
  gitlab: {
    ...openid,
    entry: (more) => gitlab({ ...secret, ...more }),
    issuer: 'https://gitlab.com',
    authorize: 'https://gitlab.com/oauth/authorize',
    token: 'https://gitlab.com/oauth/token',
    keys: 'https://gitlab.com/oauth/discovery/keys',
    user: { sub: '7', ...verified },
    claims: { sub: '7', ...verified },
    unverified: [[{ email_verified: false }, false]],
  },
  'gitlab of a host': {
    ...openid,
    entry: (more) => gitlab({ ...secret, baseUrl: 'https://git.example/', ...more }),
    issuer: 'https://git.example',
    authorize: 'https://git.example/oauth/authorize',
    token: 'https://git.example/oauth/token',
    keys: 'https://git.example/oauth/discovery/keys',
    user: { sub: '7', ...verified },
    claims: { sub: '7', ...verified },
    unverified: [],
  },
  slack: {
    ...openid,
    entry: (more) => slack({ ...secret, ...more }),
    issuer: 'https://slack.com',
    authorize: 'https://slack.com/openid/connect/authorize',
    token: 'https://slack.com/api/openid.connect.token',
    keys: 'https://slack.com/openid/connect/keys',
    more: { ok: true },
    badCode: [200, { ok: false, error: 'invalid_code' }],
    badClient: [200, { ok: false, error: 'bad_client_secret' }],
    user: { sub: 'U0R7MFMJM', ...verified, 'https://slack.com/team_id': 'T0RR' },
    claims: { sub: 'U0R7MFMJM', ...verified, 'https://slack.com/team_id': 'T0RR' },
    unverified: [[{ email_verified: false }, false]],
  },
  twitch: {
    ...openid,
    entry: (more) => twitch({ ...secret, ...more }),
    issuer: 'https://id.twitch.tv/oauth2',
    authorize: 'https://id.twitch.tv/oauth2/authorize',
    token: 'https://id.twitch.tv/oauth2/token',
    keys: 'https://id.twitch.tv/oauth2/keys',
    auth: 'post',
    scope: 'openid user:read:email',
    pkce: 'ignored',
    more: { scope: ['openid', 'user:read:email'], token_type: 'bearer' },
    badCode: [400, { status: 400, message: 'Invalid authorization code' }],
    badClient: [403, { status: 403, message: 'invalid client secret' }],
    user: { sub: '7', ...verified, preferred_username: 'alice' },
    claims: { sub: '7', ...verified, preferred_username: 'alice' },
    unverified: [[{ email_verified: false }, false]],
  },
  apple: {
    ...openid,
    entry: (more) =>
      apple({
        clientId: 'the-client',
        teamId: 'TEAM000001',
        keyId: 'KEY0000001',
        privateKey: String(privateKey),
        ...more,
      }),
    issuer: 'https://appleid.apple.com',
    authorize: 'https://appleid.apple.com/auth/authorize',
    token: 'https://appleid.apple.com/auth/token',
    keys: 'https://appleid.apple.com/auth/keys',
    auth: 'post',
    scope: 'openid name email',
    hasForm: true,
    badClient: [400, { error: 'invalid_client' }],
    cancelled: 'user_cancelled_authorize',
    user: { sub: '001.a.1', email, email_verified: 'true', is_private_email: 'false' },
    claims: { sub: '001.a.1', ...verified, is_private_email: false },
    unverified: [
      [{ email_verified: 'false' }, false],
      [{ email_verified: false }, false],
      [{ email_verified: undefined }, false],
      [{ email_verified: 1 }, false],
      [{ email_verified: true }, true],
    ],
  },
  'microsoft, common': {
    ...ofTenant('common', tid),
    entry: (more) =>
      microsoft({ ...secret, tenant: 'common', tenants: (id) => id === tid, ...more }),
  },
  'microsoft, organizations': {
    ...ofTenant('organizations', tid),
    entry: (more) =>
      microsoft({ ...secret, tenant: 'organizations', tenants: () => true, ...more }),
  },
  'microsoft, a tenant': {
    ...ofTenant(tid, tid),
    entry: (more) => microsoft({ ...secret, tenant: tid.toUpperCase(), ...more }),
  },
  'microsoft, consumers': {
    ...ofTenant(personal, personal),
    entry: (more) => microsoft({ ...secret, tenant: 'consumers', ...more }),
    user: { ...ofMicrosoft.user, tid: personal },
    claims: { ...ofMicrosoft.claims, tid: personal },
  },
  github: {
    ...oauth,
    entry: (more) => github({ ...secret, ...more }),
    issuer: 'https://github.com/login/oauth',
    iss: 'https://github.com/login/oauth',
    authorize: 'https://github.com/login/oauth/authorize',
    token: 'https://github.com/login/oauth/access_token',
    auth: 'post',
    scope: 'user:email',
    more: { scope: 'user:email,read:user', token_type: 'bearer' },
    badCode: [200, { error: 'bad_verification_code', error_uri: 'https://docs.github.com' }],
    badClient: [200, { error: 'incorrect_client_credentials' }],
    user: {
      'https://api.github.com/user': {
        id: 7,
        login: 'alice',
        name: null,
        email: 'public@example.com',
      },
      'https://api.github.com/user/emails?per_page=100': [
        { email: 'other@example.com', primary: false, verified: true },
        { email, primary: true, verified: true },
      ],
    },
    claims: { sub: '7', name: 'alice', preferred_username: 'alice', ...verified },
    unverified: [
      [
        {
          'https://api.github.com/user/emails?per_page=100': [
            { email, primary: true, verified: false },
          ],
        },
        undefined,
      ],
      [
        {
          'https://api.github.com/user/emails?per_page=100': [
            { email, primary: false, verified: true },
          ],
        },
        undefined,
      ],
      [
        {
          'https://api.github.com/user/emails?per_page=100': [
            { email, primary: 1, verified: 'true' },
          ],
        },
        undefined,
      ],
      [
        {
          'https://api.github.com/user/emails?per_page=100': [
            null,
            7,
            { email: 7, primary: true, verified: true },
          ],
        },
        undefined,
      ],
      [
        { 'https://api.github.com/user/emails?per_page=100': { primary: true, verified: true } },
        undefined,
      ],
      [{ 'https://api.github.com/user/emails?per_page=100': 403 }, undefined],
      [{ 'https://api.github.com/user/emails?per_page=100': 404 }, undefined],
    ],
  },
  'github of a host': {
    ...oauth,
    entry: (more) => github({ ...secret, baseUrl: 'https://git.example', ...more }),
    issuer: 'https://git.example/login/oauth',
    authorize: 'https://git.example/login/oauth/authorize',
    token: 'https://git.example/login/oauth/access_token',
    auth: 'post',
    scope: 'user:email',
    user: {
      'https://git.example/api/v3/user': { id: 7, login: 'alice', name: 'Alice' },
      'https://git.example/api/v3/user/emails?per_page=100': [
        { email, primary: true, verified: true },
      ],
    },
    claims: { sub: '7', name: 'Alice', ...verified },
    unverified: [],
  },
  discord: {
    ...oauth,
    entry: (more) => discord({ ...secret, ...more }),
    issuer: 'https://discord.com',
    iss: 'https://discord.com',
    authorize: 'https://discord.com/oauth2/authorize',
    token: 'https://discord.com/api/oauth2/token',
    auth: 'either',
    scope: 'identify email',
    user: {
      'https://discord.com/api/users/@me': {
        id: '80351110224678912',
        username: 'alice',
        global_name: 'Alice',
        email,
        verified: true,
      },
    },
    claims: { sub: '80351110224678912', name: 'Alice', preferred_username: 'alice', ...verified },
    unverified: [
      [{ 'https://discord.com/api/users/@me': { id: '8', email, verified: false } }, false],
      [{ 'https://discord.com/api/users/@me': { id: '8', email, verified: 'true' } }, false],
      [
        { 'https://discord.com/api/users/@me': { id: '8', email: null, verified: true } },
        undefined,
      ],
    ],
  },
  facebook: {
    ...oauth,
    entry: (more) => facebook({ ...secret, ...more }),
    issuer: 'https://www.facebook.com',
    authorize: 'https://www.facebook.com/v23.0/dialog/oauth',
    token: 'https://graph.facebook.com/v23.0/oauth/access_token',
    auth: 'post',
    scope: 'public_profile email',
    more: { token_type: 'bearer' },
    badCode: [400, { error: { message: 'used', type: 'OAuthException', code: 100 } }],
    badClient: [400, { error: { message: 'secret', type: 'OAuthException', code: 1 } }],
    onBadClient: 401,
    user: {
      'https://graph.facebook.com/v23.0/me?fields=id,name,email': {
        id: '10',
        name: 'Alice',
        email,
      },
    },
    claims: { sub: '10', name: 'Alice', email, email_verified: false },
    unverified: [
      [
        {
          'https://graph.facebook.com/v23.0/me?fields=id,name,email': {
            id: '10',
            email,
            verified: true,
          },
        },
        false,
      ],
      [{ 'https://graph.facebook.com/v23.0/me?fields=id,name,email': { id: '10' } }, undefined],
    ],
  },
  linkedin: {
    ...oauth,
    entry: (more) => linkedin({ ...secret, ...more }),
    issuer: 'https://www.linkedin.com/oauth',
    authorize: 'https://www.linkedin.com/oauth/v2/authorization',
    token: 'https://www.linkedin.com/oauth/v2/accessToken',
    auth: 'post',
    scope: 'openid profile email',
    pkce: 'rejected',
    more: { token_type: undefined, id_token: 'a.b.c' },
    badCode: [400, { error: 'invalid_redirect_uri' }],
    cancelled: 'user_cancelled_login',
    user: {
      'https://api.linkedin.com/v2/userinfo': { sub: '782bbtaQ', name: 'Alice', ...verified },
    },
    claims: { sub: '782bbtaQ', name: 'Alice', ...verified },
    unverified: [
      [{ 'https://api.linkedin.com/v2/userinfo': { sub: 'a', email } }, false],
      [
        { 'https://api.linkedin.com/v2/userinfo': { sub: 'a', email, email_verified: 'true' } },
        false,
      ],
      [{ 'https://api.linkedin.com/v2/userinfo': { sub: 'a', email_verified: true } }, undefined],
    ],
  },
  x: {
    ...oauth,
    entry: (more) => x({ ...secret, ...more }),
    issuer: 'https://x.com',
    authorize: 'https://x.com/i/oauth2/authorize',
    token: 'https://api.x.com/2/oauth2/token',
    auth: 'basic',
    scope: 'users.read tweet.read users.email',
    more: { token_type: 'bearer' },
    badCode: [400, { error: 'invalid_request', error_description: 'the code' }],
    badClient: [401, { error: 'unauthorized_client' }],
    user: {
      'https://api.x.com/2/users/me?user.fields=confirmed_email': {
        data: {
          id: '1460323737035677698',
          name: 'Alice',
          username: 'alice',
          confirmed_email: email,
        },
      },
    },
    claims: { sub: '1460323737035677698', name: 'Alice', preferred_username: 'alice', ...verified },
    unverified: [
      [
        {
          'https://api.x.com/2/users/me?user.fields=confirmed_email': { data: { id: '7', email } },
        },
        undefined,
      ],
      [
        {
          'https://api.x.com/2/users/me?user.fields=confirmed_email': {
            data: { id: '7', confirmed_email: '' },
          },
        },
        undefined,
      ],
    ],
  },
  spotify: {
    ...oauth,
    entry: (more) => spotify({ ...secret, ...more }),
    issuer: 'https://accounts.spotify.com',
    authorize: 'https://accounts.spotify.com/authorize',
    token: 'https://accounts.spotify.com/api/token',
    auth: 'basic',
    scope: 'user-read-email',
    user: { 'https://api.spotify.com/v1/me': { id: 'alice', display_name: 'Alice', email } },
    claims: { sub: 'alice', name: 'Alice', email, email_verified: false },
    unverified: [
      [{ 'https://api.spotify.com/v1/me': { id: 'a', email, email_verified: true } }, false],
      [{ 'https://api.spotify.com/v1/me': { id: 'a' } }, undefined],
    ],
  },
}

const json = ([status, body]: Reply): Response =>
  typeof body === 'string' ? new Response(body, { status }) : Response.json(body, { status })

/** The secret of Apple is a JWT that it verifies. */
function isAppleSecret(jwt: string): boolean {
  const [header = '', claims = '', signature = ''] = jwt.split('.')
  const read = (part: string) => JSON.parse(Buffer.from(part, 'base64url').toString()) as Json
  const { iss, sub, aud, iat, exp } = read(claims)
  const key = {
    key: createPublicKey(pair.publicKey.export({ type: 'spki', format: 'pem' })),
    dsaEncoding: 'ieee-p1363',
  } as const
  return (
    verify(
      'sha256',
      Buffer.from(`${header}.${claims}`),
      key,
      Buffer.from(signature, 'base64url'),
    ) &&
    JSON.stringify(read(header)) === '{"alg":"ES256","kid":"KEY0000001"}' &&
    [iss, sub, aud].join() === 'TEAM000001,the-client,https://appleid.apple.com' &&
    Number(iat) <= epochSeconds() &&
    Number(exp) > epochSeconds() &&
    Number(exp) - Number(iat) <= 15_777_000
  )
}

/** Whether the app says who it is in the way that this provider knows. */
function isClient({ auth, issuer }: StandIn, headers: Headers, form: URLSearchParams): boolean {
  const [kind, encoded = ''] = (headers.get('authorization') ?? '').split(' ')
  const decode = (part: string) => decodeURIComponent(part.replaceAll('+', ' '))
  const pairOf = Buffer.from(encoded, 'base64').toString().split(':').map(decode)
  const isBasic = kind === 'Basic'
  if (auth !== 'either' && isBasic !== (auth === 'basic')) return false
  if (isBasic && form.has('client_secret')) return false
  const [id, given] = isBasic ? pairOf : [form.get('client_id'), form.get('client_secret')]
  const isSecret =
    issuer === 'https://appleid.apple.com'
      ? isAppleSecret(given ?? '')
      : given === secret.clientSecret
  return id === secret.clientId && isSecret
}

/** Plays a provider in place of `fetch()`, with the addresses of the real one. @param redirectUri - the registered one */
export function play(t: Test, provider: StandIn, redirectUri: string) {
  const codes = new Map<string, URLSearchParams>()
  const asked: string[] = []
  const state = { user: provider.user, replies: new Map<string, Reply>() }
  const real = globalThis.fetch
  t.teardown(() => void (globalThis.fetch = real))

  const tokens = (headers: Headers, form: URLSearchParams): Response => {
    const isForm = String(headers.get('content-type')).startsWith(
      'application/x-www-form-urlencoded',
    )
    const hasVerifier = form.has('code_verifier')
    if (!isForm || form.get('grant_type') !== 'authorization_code') return json([400, 'a form?'])
    if (!isClient(provider, headers, form)) return json(provider.badClient)
    if (hasVerifier && provider.pkce === 'rejected') return json([401, { error: 'invalid_client' }])
    const code = String(form.get('code'))
    const sent = codes.get(code)
    codes.delete(code)
    const challenge = createHash('sha256')
      .update(form.get('code_verifier') ?? '')
      .digest('base64url')
    const isBound = provider.pkce !== 'checked' || sent?.get('code_challenge') === challenge
    if (!sent || !isBound || form.get('redirect_uri') !== redirectUri) return json(provider.badCode)
    const good = { access_token: 'the-access-token', token_type: 'Bearer', expires_in: 3600 }
    if (provider.keys === undefined) return json([200, { ...good, ...provider.more }])
    const now = epochSeconds()
    const about = { iss: provider.issuer, aud: 'the-client', iat: now, exp: now + 300 }
    const claims = { ...about, nonce: sent.get('nonce'), ...state.user }
    const id_token = forge({ alg: 'ES256', kid: 'one' }, claims, 'ES256', keys.p256.privateKey)
    return json([200, { ...good, id_token, ...provider.more }])
  }
  globalThis.fetch = (async (input: URL, init: RequestInit = {}) => {
    const { href } = input
    asked.push(href)
    const headers = new Headers(init.headers)
    const reply = state.replies.get(href)
    if (reply !== undefined) return json(reply)
    if (href === provider.token) {
      if (init.method !== 'POST' || headers.get('accept') !== 'application/json')
        return json([406, ''])
      return tokens(
        new Headers({
          'content-type': 'application/x-www-form-urlencoded',
          ...Object.fromEntries(headers),
        }),
        new URLSearchParams(init.body as URLSearchParams),
      )
    }
    if (href === provider.keys) return json([200, { keys: [goodKey] }])
    if (provider.hasMetadata && href === `${provider.issuer}/.well-known/openid-configuration`) {
      const methods = { basic: 'client_secret_basic', post: 'client_secret_post' }
      const { auth } = provider
      return json([
        200,
        {
          issuer: provider.issuer,
          authorization_endpoint: provider.authorize,
          token_endpoint: provider.token,
          jwks_uri: provider.keys,
          id_token_signing_alg_values_supported: ['ES256'],
          token_endpoint_auth_methods_supported:
            auth === 'either' ? Object.values(methods) : [methods[auth]],
        },
      ])
    }
    const found = state.user[href]
    if (headers.get('authorization') !== 'Bearer the-access-token') return json([401, {}])
    if (typeof found === 'number') return json([found, {}])
    return found === undefined ? json([404, {}]) : json([200, found as Json])
  }) as typeof fetch
  return {
    asked,
    state,
    /** What a browser does at the authorization endpoint. @returns the parameters of the callback; a string for a page that says what is wrong */
    visit(location: string, isCancelled = false): URLSearchParams | string {
      const { origin, pathname, searchParams: sent } = new URL(location)
      if (origin + pathname !== provider.authorize) return 'another address'
      const wrong = Object.entries({
        client_id: 'the-client',
        response_type: 'code',
        redirect_uri: redirectUri,
        scope: provider.scope,
        response_mode: provider.hasForm ? 'form_post' : null,
        ...(provider.pkce === 'checked' && { code_challenge_method: 'S256' }),
      }).find(([name, value]) => sent.get(name) !== value)
      if (wrong !== undefined) return `${wrong[0]}: ${sent.get(wrong[0])}`
      if (provider.pkce === 'rejected' && sent.has('code_challenge')) return 'PKCE is not known'
      if (provider.keys !== undefined && !sent.has('nonce')) return 'no nonce'
      const code = randomUUID()
      codes.set(code, sent)
      const result = isCancelled
        ? { error: provider.cancelled, error_description: 'The user' }
        : { code }
      const iss = provider.iss === undefined ? {} : { iss: provider.iss }
      return new URLSearchParams({ ...result, state: String(sent.get('state')), ...iss })
    },
  }
}
