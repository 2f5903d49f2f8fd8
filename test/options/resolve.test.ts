import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { runInNewContext } from 'node:vm'
import t from 'tap'
import { basicAuthenticator, jwtAuthenticator } from '../../lib/index.js'
import { defaults, withDefaults } from '../../lib/options/defaults.js'
import { featureOptions, features } from '../../lib/feature-table.js'
import { resolveOptions } from '../../lib/options/resolve.js'
import { resolveHashing } from '../../lib/passwords/hashing.js'
import { keyEntrySchema, keyFileEntrySchema } from '../../lib/options/key-set-schemas.js'
import { fillRules, resolveJwtConfig } from '../../lib/options/resolve-jwt.js'
import { pluginSchema } from '../../lib/options/schemas.js'
import * as apiKeys from '../../lib/api-keys/options.js'
import { memoryApiKeys } from '../../lib/api-keys/stores/memory.js'
import * as cookies from '../../lib/cookies/options.js'
import * as sessions from '../../lib/sessions/options.js'
import { root } from '../helpers/project.js'

const secret = 's'.repeat(32)
/** As plain objects, which t.strictSame compares by value. */
const plain = (value: unknown): unknown => structuredClone(value)

t.test('an option that is undefined gets its default', async (t) => {
  const unset = (object: object): object =>
    Object.fromEntries(Object.keys(object).map((name) => [name, undefined]))
  const { credentialCache, throttle, hashing, login, jwt, tokenRules, tokenCache } = defaults
  const given = {
    ...unset(resolveOptions({})),
    credentialCache: unset(credentialCache),
    throttle: unset(throttle),
  }
  t.strictSame(plain(resolveOptions(given)), plain(resolveOptions({})))
  const { login: explicit } = resolveOptions({ login: unset(login) })
  t.strictSame(plain(explicit), { ...login, isExplicit: true })
  t.strictSame(resolveHashing(unset(hashing)), resolveHashing({}))
  const config = { secret, ...unset({ ...jwt, ...tokenRules }), tokenCache: unset(tokenCache) }
  t.strictSame(plain(resolveJwtConfig(config)), plain(resolveJwtConfig({ secret })))
  for (const standard of [defaults.jwtAuthenticator, defaults.basicAuthenticator]) {
    t.strictSame(plain(withDefaults<object, object>(standard, unset(standard))), standard)
  }
})

t.test('maxCost is at least the cost of new hashes', async (t) => {
  t.match(resolveHashing({ cost: 15 }), { wanted: { strength: { cost: 15 } }, maxCost: 15 })
  t.match(resolveHashing({ cost: 15, maxCost: 16 }), { maxCost: 16 })
})

t.test('a rule of an authenticator overrides that of the service, even 0 and true', async (t) => {
  const typ = new Set(['t'])
  const base = { clockTolerance: 7, requireExp: false, issuer: 'i', audience: ['a'], typ }
  t.strictSame(fillRules({ clockTolerance: undefined, audience: undefined }, base), base)
  const own = { clockTolerance: 0, requireExp: true, issuer: 'j', audience: 'b' }
  const expected = { ...own, audience: ['b'], typ: new Set(['u']) }
  t.strictSame(fillRules({ ...own, typ: 'Application/U' }, base), expected)
  t.strictSame(fillRules({ typ: ['A', 'b'] }, base).typ, new Set(['a', 'b']))
})

t.test('a property of Object.prototype is no option', async (t) => {
  const polluting = { optional: true, keys: 'x.json', publish: true, tokenFunc: () => 'forged' }
  Object.assign(Object.prototype, polluting)
  t.teardown(() => {
    for (const name of Object.keys(polluting)) Reflect.deleteProperty(Object.prototype, name)
  })
  t.equal(jwtAuthenticator({}).optional, false)
  t.equal(basicAuthenticator({}).optional, false)
  const { login } = resolveOptions({})
  t.equal(login && login.tokenFunc, undefined)
  const { keys, publish, signingMethod } = resolveJwtConfig({ secret })
  t.strictSame([keys, publish, signingMethod], [undefined, undefined, 'HS256'])
  t.throws(() => resolveJwtConfig({}), { code: 'ERR_AUTH_OPTION' })
})

/** The value of a literal as the documents have it. */
const valueOf = (literal: string): unknown => plain(runInNewContext(`(${literal})`))

t.test('options.md states the defaults of the code', async (t) => {
  const { plugin, hashing, credentialCache, throttle } = defaults
  const known = { ...plugin, hashing, credentialCache, throttle }
  const document = readFileSync(join(root, 'docs/reference/options.md'), 'utf8')
  const told = [
    ...document.matchAll(/^## `(\w+)`\n\nType: (?:(?!\n\n).)*? Default: `(.+?)`(?: |\.|,)/gms),
  ]
    .map(([, name = '', literal = '']) => [name, literal] as const)
    .filter(([name]) => Object.hasOwn(known, name))
  t.strictSame(told.map(([name]) => name).toSorted(), [
    'authenticators',
    'credentialCache',
    'defaultLanguage',
    'hashing',
    'languages',
    'passwordField',
    'realm',
    'throttle',
  ])
  for (const [name, literal] of told) {
    t.same(valueOf(literal), JSON.parse(JSON.stringify(known[name as keyof typeof known])), name)
  }
})

t.test('options.md describes every option with its default', async (t) => {
  const page = readFileSync(join(root, 'docs/reference/options.md'), 'utf8')
  const sections = new Map(
    page.split(/^## /m).map((section) => {
      const [title = '', ...lines] = section.split('\n')
      return [title.replaceAll('`', ''), lines.join('\n')]
    }),
  )
  interface Schema {
    readonly properties?: Readonly<Record<string, object>>
    readonly anyOf?: readonly Schema[]
  }
  const membersOf = (schema: object): string[] => {
    const { properties = {}, anyOf = [] } = schema as Schema
    return [...Object.keys(properties), ...anyOf.flatMap(membersOf)]
  }
  const schemaOf = async (name: string): Promise<[string, object]> => [
    name,
    (await features[name]?.load())?.schema ?? {},
  ]
  const all: [string, object][] = [
    ...Object.entries(pluginSchema([]).properties),
    ...(await Promise.all(featureOptions().map(schemaOf))),
    ['Entries of jwt.keys', keyEntrySchema],
    ['Entries of jwt.keys', keyFileEntrySchema],
  ]
  const missing = all.flatMap(([name, schema]) => {
    const section = sections.get(name)
    if (section === undefined) return name
    const isOwnType = name === 'authenticator' || name === 'jwtService'
    const members = isOwnType ? [] : membersOf(schema)
    return members
      .filter((member) => !new RegExp(String.raw`\*\*\`${member}\b`).test(section))
      .map((member) => `${name}.${member}`)
  })
  t.strictSame(missing, [])

  const { jwt, tokenRules, tokenCache, keySet } = defaults
  const ofJwt = { ...jwt, ...tokenRules, tokenCache, ...keySet, publish: false }
  const { login, hashing, credentialCache, throttle } = defaults
  const groups = {
    login,
    sessions: sessions.resolve(true),
    cookies: cookies.resolve(true),
    apiKeys: apiKeys.resolve({ prefix: 'shop', store: memoryApiKeys() }),
    hashing,
    credentialCache,
    throttle,
  }
  let count = 0
  for (const [name, values] of Object.entries({ ...groups, jwt: ofJwt })) {
    for (const [member, value] of Object.entries(values)) {
      const told = new RegExp(String.raw`\*\*\`${member}\`\*\*: .*Default: \`(.+?)\``)
      const [, literal] = told.exec(sections.get(name) ?? '') ?? []
      if (literal === undefined) continue
      count += 1
      t.same(valueOf(literal), value, `${name}.${member}`)
    }
  }
  t.ok(count >= 25, `${count} defaults`)
})

t.test('options inherited from a prototype make startup fail', async (t) => {
  class Options {
    get auth(): boolean {
      return true
    }
  }
  for (const options of [new Options(), Object.create({ auth: true }) as object]) {
    const error = { code: 'ERR_AUTH_OPTION', message: /"auth": found in the prototype/ }
    t.throws(() => resolveOptions(options), error)
  }
  class Own {
    readonly auth = true
  }
  t.equal(resolveOptions(new Own()).auth, true)
})
