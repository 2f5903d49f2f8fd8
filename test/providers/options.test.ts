// What makes startup fail, and what the entries leave to the app.
import { generateKeyPairSync, randomUUID } from 'node:crypto'
import t from 'tap'
import {
  apple,
  facebook,
  github,
  gitlab,
  google,
  linkedin,
  microsoft,
  slack,
  twitch,
} from '../../lib/providers/index.js'
import type { LoginProviderOptions } from '../../lib/index.js'
import { standardOptions } from '../helpers/app.js'
import { clockOf } from '../helpers/clock.js'
import { reveals, thrownBy } from '../helpers/errors.js'
import { failureWith } from '../helpers/options.js'

const username = ({ sub }: { sub: string }) => sub
const base = { clientId: 'a', clientSecret: 'b', username }
const errorOf = failureWith('loginWith', { ...standardOptions(), sessions: true, cookies: true })

const pemOf = (namedCurve: string, type: 'pkcs8' | 'sec1' = 'pkcs8'): string => {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve })
  return String(privateKey.export({ type, format: 'pem' }))
}
const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey

const good = { clientId: 'a', teamId: 'T', keyId: 'K', privateKey: pemOf('P-256') }

t.test('startup fails for a key of Apple that is none, without a word of it', async (t) => {
  const lines = good.privateKey.trim().split('\n')
  const keys: unknown[] = [
    undefined,
    null,
    '',
    7,
    'a secret of Apple that is no key',
    lines.slice(1, -1).join(''),
    [lines[0], 'AAAA', lines.at(-1)].join('\n'),
    pemOf('P-384'),
    pemOf('P-256', 'sec1'),
    rsa.export({ type: 'pkcs8', format: 'pem' }),
    String(generateKeyPairSync('ed25519').privateKey.export({ type: 'pkcs8', format: 'pem' })),
    Buffer.from(good.privateKey),
  ]
  for (const privateKey of keys) {
    const { code, message, error } = thrownBy(() =>
      apple({ ...good, privateKey: privateKey as string }),
    )
    t.equal(code, 'ERR_AUTH_OPTION')
    t.match(message, /apple\(\{ privateKey \}\).*P-256.*PKCS #8/)
    const secret = String(privateKey)
      .split(/\n|\\n/)
      .find((line) => /^[\w+/ ]{30}/.test(line))
    if (secret !== undefined) t.notOk(reveals(error, secret))
  }
  for (const option of ['teamId', 'keyId'])
    for (const value of [undefined, '', 7])
      t.match(
        thrownBy(() => apple({ ...good, [option]: value })),
        {
          code: 'ERR_AUTH_OPTION',
          message: new RegExp(`apple\\(\\{ ${option} \\}\\)`),
        },
      )
  for (const privateKey of [
    good.privateKey,
    lines.join('\\n'),
    lines.join('\r\n'),
    lines.join(' '),
  ])
    t.equal(await errorOf(t, { apple: { ...apple({ ...good, privateKey }), username } }), undefined)
})

t.test('the secret of Apple is kept for an hour', async (t) => {
  const clock = clockOf(t)
  const clientSecret = apple(good).clientSecret as () => string
  const first = clientSecret()
  clock.advance(3599)
  t.equal(clientSecret(), first)
  clock.advance(2)
  const second = clientSecret()
  t.not(second, first)
  const { iat, exp } = JSON.parse(
    Buffer.from(String(second.split('.')[1]), 'base64url').toString(),
  ) as { iat: number; exp: number }
  t.ok(exp - iat > 3600 && exp - iat <= 15_777_000, 'valid for as long as it is kept')
})

t.test('the name of a form of Apple is taken where the token has none, if it is one', async (t) => {
  const claims = apple(good).claims as (
    claims: object,
    callback: { user: string | null },
  ) => { name?: unknown }
  const nameOf = (user: unknown, more: object = {}) =>
    claims(
      { iss: 'i', sub: 's', ...more },
      { user: typeof user === 'string' || user === null ? user : JSON.stringify(user) },
    )
  const name = { firstName: 'Alice', lastName: 'Liddell' }
  t.match(nameOf({ name, email: 'admin@example.com' }), { name: 'Alice Liddell', email: undefined })
  t.match(nameOf({ name: { firstName: 'Alice' } }), { name: 'Alice' })
  t.match(nameOf({ name }, { name: 'Of the token' }), { name: 'Of the token' })
  const odd: unknown[] = [
    null,
    '',
    '{',
    'null',
    '7',
    '[]',
    '"a"',
    { name: null },
    { name: 'Alice' },
    { name: { firstName: 7, lastName: ['a'] } },
    { name: { firstName: 'a'.repeat(201) } },
    { name: { firstName: 'a\nb' } },
    { name: { firstName: 'a', lastName: '\0' } },
    { name: { firstName: '\ud800' } },
    '{"__proto__": {"name": {"firstName": "a"}}}',
  ]
  for (const user of odd) t.equal(nameOf(user).name, undefined, JSON.stringify(user))
})

t.test('startup fails for a tenant of Microsoft that is none, and without tenants', async (t) => {
  const tid = randomUUID()
  const bad = [
    '',
    'contoso.com',
    '{tenantid}',
    `${tid}/`,
    `${tid}\n`,
    'Common',
    '__proto__',
    'constructor',
    undefined,
    null,
    7,
    [tid],
  ]
  for (const tenant of bad)
    t.match(
      thrownBy(() => microsoft({ ...base, tenant: tenant as string })),
      {
        code: 'ERR_AUTH_OPTION',
        message: /microsoft\(\{ tenant \}\)/,
      },
    )
  const tenants = (): boolean => true
  const rows: [given: Parameters<typeof microsoft>[0], isFine: boolean][] = [
    [{ ...base, tenant: 'common' }, false],
    [{ ...base, tenant: 'organizations' }, false],
    [{ ...base, tenant: 'common', tenants }, true],
    [{ ...base, tenant: 'organizations', tenants }, true],
    [{ ...base, tenant: 'consumers' }, true],
    [{ ...base, tenant: 'consumers', tenants }, false],
    [{ ...base, tenant: tid }, true],
    [{ ...base, tenant: tid, tenants }, false],
    [{ ...base, tenant: 'organizations', tenants: true as never }, false],
  ]
  for (const [given, isFine] of rows) {
    const error = await errorOf(t, { microsoft: microsoft(given) })
    if (isFine) t.equal(error, undefined, given.tenant)
    else t.match(error, { code: 'ERR_AUTH_OPTION', message: /loginWith\.microsoft\.tenants/ })
  }
})

t.test('organizations are no personal accounts, whatever tenants() says', async (t) => {
  const personal = '9188040d-6c67-4c5b-b112-36a304b66dad'
  const asked: string[] = []
  const tenants = async (tid: string) => asked.push(tid) > 0
  const { tenants: ofFirms } = microsoft({ ...base, tenant: 'organizations', tenants })
  const { tenants: ofAll } = microsoft({ ...base, tenant: 'common', tenants })
  const tid = randomUUID()
  t.strictSame([await ofFirms?.(personal), await ofFirms?.(tid), asked], [false, true, [tid]])
  t.equal(await ofAll?.(personal), true)
})

t.test('a host of their own is an address', async (t) => {
  for (const entry of [github, gitlab] as (typeof gitlab)[]) {
    for (const baseUrl of [undefined, '', null, 7])
      t.match(
        thrownBy(() => entry({ ...base, baseUrl: baseUrl as string })),
        {
          code: 'ERR_AUTH_OPTION',
          message: /baseUrl/,
        },
      )
    for (const baseUrl of ['http://git.example', 'git.example', 'https://git.example?a'])
      t.match(await errorOf(t, { git: entry({ ...base, baseUrl }) }), {
        code: 'ERR_AUTH_OPTION',
        message: /loginWith\.git/,
      })
  }
})

t.test('the app overrides what it likes, and has to have what a provider needs', async (t) => {
  // It compiles with `exactOptionalPropertyTypes`.
  const entry: LoginProviderOptions = google({ ...base, link: undefined })
  t.equal(entry.link, undefined)
  t.match(github({ ...base, scope: 'read:user' }), { oauth2: { scope: 'read:user' } })
  t.match(google({ ...base, scope: 'openid' }), { scope: 'openid' })
  t.match(facebook({ ...base, clientAuth: 'basic', failureTo: '/failed' }), {
    clientAuth: 'basic',
    failureTo: '/failed',
  })
  t.match(twitch({ ...base, authorizationParams: { force_verify: 'true' } }), {
    authorizationParams: { force_verify: 'true' },
  })
  const { clientSecret: _, ...open } = base
  t.match(await errorOf(t, { linkedin: linkedin(open) }), {
    code: 'ERR_AUTH_OPTION',
    message: /loginWith\.linkedin\.clientSecret/,
  })
  const github2 = github({ ...base, clientSecret: undefined })
  t.match(await errorOf(t, { github: github2 }), { message: /loginWith\.github\.clientSecret/ })
})

t.test(
  'claims of the app get those of the entry, and members left undefined do not count',
  async (t) => {
    const seen: unknown[] = []
    const keep = (claims: object): object => {
      seen.push((claims as { email_verified?: unknown }).email_verified)
      return claims
    }
    const of = (email_verified: unknown) =>
      ({ iss: 'a', sub: '7', email: 'alice@example.com', email_verified }) as never
    const entries = [
      google({ ...base, claims: keep }),
      gitlab({ ...base, claims: keep }),
      slack({ ...base, claims: keep }),
      twitch({ ...base, claims: keep }),
      microsoft({ ...base, tenant: 'consumers', claims: keep }),
    ]
    for (const { claims } of entries)
      for (const value of ['true', 'false', [], 1, {}]) await claims?.(of(value), { user: null })
    t.strictSame([...new Set(seen)], [false])
    const left = {
      claims: undefined,
      scope: undefined,
      responseMode: undefined,
      clientAuth: undefined,
    }
    const { responseMode, clientAuth, scope, claims } = apple({ ...good, ...left })
    const facts = ['form_post', 'post', 'openid name email', 'function']
    t.strictSame([responseMode, clientAuth, scope, typeof claims], facts)
    t.ok(
      'clientSecret' in google({ ...base, clientSecret: undefined }),
      'a variable may be missing',
    )
  },
)

t.test(
  'claims of the app are those of a plain entry beside the ones of the provider',
  async (t) => {
    for (const claims of ['email', null, {}])
      t.match(await errorOf(t, { google: google({ ...base, claims: claims as never }) }), {
        code: 'ERR_AUTH_OPTION',
        message: /loginWith\.google\.claims/,
      })
    const { claims } = google({ ...base, claims: () => undefined as never })
    t.equal(await claims?.({ iss: 'a', sub: '7' }, { user: null }), undefined, 'a 500')
  },
)

t.test('options may be an instance of a class, none of whose methods is left out', async (t) => {
  class Options {
    readonly clientId = 'a'
    readonly #known = new Set(['7'])
    clientSecret() {
      return [...this.#known].join()
    }
    username({ sub }: { sub: string }) {
      return this.#known.has(sub) ? sub : null
    }
    claims(claims: { sub: string }) {
      if (!this.#known.has(claims.sub)) throw new Error('not known')
      return claims
    }
    tenants(tid: string) {
      return this.#known.has(tid)
    }
  }
  class OfTenants extends Options {
    readonly tenant = 'organizations'
  }
  const given = new Options()
  const entries = {
    microsoft: microsoft(new OfTenants()),
    google: google(given),
    github: github(given),
    gitlab: gitlab(given),
    facebook: facebook(given),
    slack: slack(given),
  }
  for (const [name, entry] of Object.entries(entries)) {
    const { clientSecret, claims, username } = entry as unknown as Options & typeof entries.google
    t.equal((clientSecret as () => string)(), '7', name)
    t.equal(username({ sub: '8' }), null)
    t.match(await thrownByAsync(() => claims?.({ sub: '8' } as never)), { message: 'not known' })
  }
  t.equal(await entries.microsoft.tenants?.('7'), true)
  t.equal(await entries.microsoft.tenants?.('8'), false)
})

t.test('startup names a variable that is not set, and options that are none', async (t) => {
  const unset = undefined as never
  t.match(await errorOf(t, { corp: google({ ...base, clientId: unset }) }), {
    message: /loginWith\.corp\.clientId.*variable/,
  })
  const rows = [
    () => apple({ ...good, privateKey: unset }),
    () => microsoft({ ...base, tenant: unset }),
    () => gitlab({ ...base, baseUrl: unset }),
  ]
  for (const make of rows) t.match(thrownBy(make), { code: 'ERR_AUTH_OPTION', message: /variable/ })
  for (const make of [google, github, gitlab, slack, facebook] as (typeof google)[])
    for (const given of [undefined, null])
      t.match(await errorOf(t, { corp: make(given as never) }), {
        code: 'ERR_AUTH_OPTION',
        message: /loginWith\.corp\.clientId/,
      })
})

t.test('slack() lets in the users of its workspace alone', async (t) => {
  for (const team of [undefined, '', 7])
    t.match(
      thrownBy(() => slack({ ...base, team: team as string })),
      { code: 'ERR_AUTH_OPTION', message: /slack\(\{ team \}\)/ },
    )
  const { claims } = slack({ ...base, team: 'T1' })
  const of = (team: string) => ({ sub: '7', 'https://slack.com/team_id': team }) as never
  t.match(await claims?.(of('T1'), { user: null }), { sub: '7' })
  t.match(await thrownByAsync(() => claims?.(of('T2'), { user: null })), {
    code: 'ERR_AUTH_LOGIN_REFUSED',
    cause: /workspace/,
  })
})

async function thrownByAsync(work: () => unknown): Promise<unknown> {
  try {
    return await work()
  } catch (error) {
    return error
  }
}
