import type { FastifyRequest } from 'fastify'
import t, { type Test } from 'tap'
import {
  anyOf,
  basicAuthenticator,
  EXTRA_JWT_CLAIMS,
  jwtAuthenticator,
  type AuthMark,
  type AuthnOptions,
} from '../../lib/index.js'
import { authAttacks, authnTesting, type AttackOptions } from '../../lib/testing/index.js'
import { appWith, basic, passwords, secret, userService, users } from '../helpers/app.js'
import { anyService } from '../helpers/flows.js'

interface Wanted {
  auth: AuthMark
  options?: AuthnOptions
  /** Fields of alice. */
  fields?: object
  kit?: boolean
  preHandler?: (request: FastifyRequest) => boolean
}

async function appFor(t: Test, { auth, options, fields, kit, preHandler }: Wanted) {
  let runs = 0
  const service = anyService(userService(users.map((user) => ({ ...user, ...fields }))))
  const app = await appWith(t, { userService: service, jwt: { secret }, ...options }, (app) => {
    if (kit === true) void app.register(authnTesting)
    app.get('/', {
      config: { auth: auth as true },
      preHandler: async (request, reply) => {
        if (preHandler?.(request) === false) await reply.code(403).send('no')
      },
      handler: () => {
        runs += 1
        return 'in'
      },
    })
  })
  return { app, runs: () => runs }
}

/** The claims of a request. */
const claimsOf = (request: FastifyRequest): Record<string, unknown> =>
  request.extra[EXTRA_JWT_CLAIMS] ?? {}

/** An attack by tokens of alice with a scope: nothing else than what is about scopes and roles. */
const attack = (scope: unknown, more: Partial<AttackOptions> = {}): AttackOptions => ({
  url: '/',
  sub: 'alice',
  claims: { scope },
  except: [/^(?!scope|role)/],
  ...more,
})

t.test('a protected route rejects every attack on its scopes and roles', async (t) => {
  const fields = { roles: ['editor', 'x'] }
  const need = { scope: { all: ['notes:read', 'notes:write'] } } as const
  const rolesOf: AuthnOptions = { access: { rolesOf: () => ['editor'] } }
  const scopesOf: AuthnOptions = { access: { scopesOf: () => ['a'] } }
  const can: AuthnOptions = {
    access: { scopesOf: (_, request) => claimsOf(request).can as string[] },
  }
  const byBasic = { good: basic('alice', passwords.alice) }
  const usesBoth = { use: ['basic', 'jwt'], scope: 'a' } as const
  const rows: [string, Wanted, AttackOptions][] = [
    ['one scope', { auth: { scope: 'notes:write' } }, attack('notes:write')],
    ['each of two', { auth: need }, attack('x notes:write notes:read')],
    ['any of two', { auth: { scope: { any: ['notes:write', 'admin'] } } }, attack('admin')],
    ['in scp', { auth: { scope: 'a' } }, attack(undefined, { claims: { scp: ['b', 'a'] } })],
    ['both', { auth: { scope: 'a', role: { any: ['editor', 'y'] } }, fields }, attack('a')],
    ['a role', { auth: { role: 'editor' }, fields }, attack(undefined)],
    ['rolesOf', { auth: { role: 'editor' }, options: rolesOf }, attack(undefined)],
    ['scopesOf, with Basic', { auth: usesBoth, options: scopesOf }, attack(undefined, byBasic)],
    [
      'scopesOf, which reads another claim',
      { auth: { scope: 'a' }, options: can },
      attack(undefined, { claims: { can: ['a'] } }),
    ],
  ]
  for (const [title, wanted, options] of rows) {
    const { app, runs } = await appFor(t, { ...wanted, kit: true })
    const report = await authAttacks(app, options)
    t.strictSame(report.problems, [], `${title}: ${String(report)}`)
    t.ok(report.cases > 8, `${title}: ${report.cases} cases`)
    t.ok(runs() >= 2 && runs() <= 5, `${title}: ${runs()} runs, those of good credentials`)
  }
})

t.test('a report names the attacks on scopes and roles that cannot be made', async (t) => {
  const leftOut = async (wanted: Wanted, options: AttackOptions): Promise<string[]> => {
    const { app } = await appFor(t, wanted)
    const report = await authAttacks(app, options)
    t.strictSame(report.problems, [], String(report))
    return report.leftOut.filter((each) => / the (?:scope|role) \(/.test(each))
  }
  const scopesOfAll = { access: { scopesOf: () => ['a'] } }
  const byAccess =
    'tokens without the scope ("access.scopesOf" or "scopes" of the issuer gives it, whatever "scope" says)'
  const scope = 'users without the scope (register authnTesting, and they are played)'
  const role = 'users without the role (register authnTesting, and they are played)'
  const both = { scope: 'a', role: 'editor' } as const
  const fields = { role: 'editor' }
  t.strictSame(await leftOut({ auth: true }, attack('a')), [])
  t.strictSame(await leftOut({ auth: both, fields }, attack('a')), [role])
  t.strictSame(await leftOut({ auth: both, fields, kit: true }, attack('a')), [])
  const options = scopesOfAll
  t.strictSame(await leftOut({ auth: both, fields, options }, attack('')), [byAccess, scope, role])
  t.strictSame(await leftOut({ auth: both, fields, options, kit: true }, attack('')), [byAccess])
  t.strictSame(
    await leftOut(
      { auth: { ...both, use: 'basic' }, fields, options },
      attack('', { good: basic('alice', passwords.alice) }),
    ),
    ['tokens without the scope (the key that signs the good token is not known)', scope, role],
  )
  const preHandler = (request: FastifyRequest): boolean => 'id' in Object(storedIn(request))
  const storedIn = (request: FastifyRequest): unknown =>
    request.headers['user-agent'] === 'lightMyRequest' && 'authorization' in request.headers
      ? { id: 1 }
      : null
  t.strictSame(await leftOut({ auth: both, fields, kit: true, preHandler }, attack('a')), [
    'users without the role (something else than the mark rejects who has it)',
  ])
})

t.test('authAttacks() finds handwritten scope checks that compare badly', async (t) => {
  const scopeIn = (request: FastifyRequest): string => String(claimsOf(request).scope)
  const broken: [string, (scope: string) => boolean, RegExp][] = [
    ['a part of the text', (scope) => scope.includes('notes:write'), /"notes:writex" for/],
    [
      'a prefix of what is needed',
      (scope) => scope.split(' ').some((name) => name !== '' && 'notes:write'.startsWith(name)),
      /"notes" for/,
    ],
    ['without case', (scope) => scope.toLowerCase().split(' ').includes('notes:write'), /"NOTES:/],
    ['patterns', (scope) => /(?:^| )(?:notes:\*|notes:write)(?: |$)/.test(scope), /"notes:\*" for/],
    ['any text', (scope) => scope !== '', /: no claim$/],
    ['nothing', () => true, /: none$/],
  ]
  for (const [title, isFine, name] of broken) {
    const preHandler = (request: FastifyRequest): boolean => isFine(scopeIn(request))
    const { app } = await appFor(t, { auth: true, preHandler })
    const options = attack('notes:write', { scope: 'notes:write' })
    const { problems } = await authAttacks(app, options)
    t.ok(problems.length > 0, title)
    t.match(problems.map((problem) => problem.case).join('\n'), new RegExp(name.source, 'm'), title)
    const found = problems.every(({ status, why }) => status === 200 && why === 'let through')
    t.ok(found, title)
    const blind = await authAttacks(app, attack('notes:write'))
    t.strictSame(blind.problems, [], `${title}: the report does not know of the check`)
  }
  const good = (request: FastifyRequest) => scopeIn(request).split(' ').includes('notes:write')
  const { app } = await appFor(t, { auth: true, preHandler: good })
  const report = await authAttacks(app, attack('notes:write', { scope: 'notes:write' }))
  t.strictSame(report.problems, [], String(report))
})

t.test('authAttacks() finds an access.scopesOf that compares badly', async (t) => {
  const access: AuthnOptions['access'] = {
    scopesOf: (_, request) => String(claimsOf(request).scope).toLowerCase().split(/[ :]/),
  }
  const { app } = await appFor(t, { auth: { scope: 'notes' }, options: { access } })
  const { problems } = await authAttacks(app, attack('notes'))
  t.strictSame(
    problems.map((problem) => problem.case),
    ['notes:x', 'NOTES', 'notes:*'].map((near) => `scope of the token: "${near}" for "notes"`),
  )
})

t.test('authAttacks() finds an onUnauthorized that sends 200 or 401 instead of 403', async (t) => {
  for (const [status, why] of [
    [200, 'let through'],
    [401, 'expected 403; the credentials themselves were rejected'],
  ] as const) {
    const authenticator = {
      ...anyOf(jwtAuthenticator(), basicAuthenticator()),
      onUnauthorized: (
        error: { statusCode: number },
        _: unknown,
        reply: { code(status: number): { send(body: string): unknown } },
      ) => reply.code(error.statusCode === 403 ? status : 401).send('own'),
    }
    const { app } = await appFor(t, {
      auth: { scope: 'a', role: 'editor' },
      options: { authenticator },
      fields: { role: 'editor' },
      kit: true,
    })
    const report = await authAttacks(app, attack('a'))
    t.ok(report.problems.length > 30, String(report))
    t.ok(report.problems.every((problem) => problem.status === status && problem.why === why))
    const kinds = new Set(report.problems.map((problem) => problem.case.replace(/:.*/s, '')))
    t.strictSame(kinds, new Set(['scope of the token', 'role of the user']))
    if (status !== 401) continue
    const meant = await authAttacks(app, attack('a', { rejections: [401] }))
    t.strictSame(meant.problems, [], 'where it is meant')
  }
})

t.test('authAttacks() takes HEAD, and rejects bad options', async (t) => {
  const { app } = await appFor(t, { auth: { scope: 'a' } })
  const report = await authAttacks(app, attack('a', { method: 'HEAD' }))
  t.strictSame(report.problems, [], String(report))
  t.ok(report.cases > 20)
  await t.rejects(authAttacks(app, attack('a', { scope: ['a'] as never })), {
    code: 'ERR_AUTH_MARK',
    message: /authAttacks: key "scope": found an array of/,
  })
  const without = await authAttacks(app, attack('b'))
  t.match(without.problems, [{ case: 'good credentials', status: 403, why: /correct .*"claims"/ }])
})
