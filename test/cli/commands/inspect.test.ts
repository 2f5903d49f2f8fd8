// Also holds lib/cli/decode.ts.
import t from 'tap'
import { JwtService } from '../../../lib/tokens/service.js'
import { cli, FakeTerminal, piped } from '../../helpers/cli.js'
import { encode, hmacToken, keys, now, privatePem, publicPem } from '../../helpers/tokens.js'

const secret = 'x'.repeat(64)
const env = { AUTH_JWT_SECRET: secret }
const service = new JwtService({ secret })
const header = { alg: 'HS256', typ: 'JWT' }
const sign = (claims: object, more: object = {}): string =>
  hmacToken({ ...header, ...more }, claims, secret)

t.test('a valid token', async (t) => {
  const nbf = now() - 200
  const exp = now() + 9000
  const token = sign({ sub: 'alice', admin: true, 'a b': [1, { c: 'ü' }], nbf, exp })
  const { exit, stdout, stderr } = await cli('inspect', { env, stdin: piped(token) })
  t.strictSame([exit, stderr], [0, ''])
  const time = (seconds: number): string =>
    `${seconds}  ${new Date(seconds * 1000).toISOString().replace('.000Z', 'Z')}`
  const lines = stdout.split('\n')
  t.strictSame(lines.slice(0, 8), [
    'Header',
    '  alg  "HS256"',
    '  typ  "JWT"',
    '',
    'Claims',
    '  sub    "alice"',
    '  admin  true',
    '  "a b"  [1,{"c":"ü"}]',
  ])
  t.ok(lines[8]?.startsWith(`  nbf    ${time(nbf)}, 3 minutes 2`), String(lines[8]))
  t.ok(lines[9]?.startsWith(`  exp    ${time(exp)}, in 2 hours 29 minutes`), String(lines[9]))
  t.strictSame(lines.slice(10), [
    '',
    'Valid: signed with HS256, with the key of AUTH_JWT_SECRET.',
    '',
  ])
})

t.test('it may be piped in, with what comes with it when it is copied', async (t) => {
  const token = service.generateToken('alice')
  const forms = [
    token,
    `${token}\n`,
    `  Bearer ${token}\r\n`,
    `bearer  ${token}`,
    `Authorization: Bearer ${token}`,
    `"${token}"`,
    `'Bearer ${token}'`,
  ]
  for (const form of forms) {
    for (const words of [['inspect'], ['inspect', '-']]) {
      const { exit, stdout } = await cli(words, { env, stdin: piped(form) })
      t.equal(exit, 0, form.slice(0, 20))
      t.match(stdout, '\nValid: ')
    }
    t.equal((await cli(['inspect', form], { env })).exit, 0)
  }
})

t.test('at a terminal it is asked for, and not shown', async (t) => {
  const token = service.generateToken('alice')
  const { exit, stdout, stderr } = await cli('inspect', {
    env,
    stdin: new FakeTerminal(`${token}\r`),
  })
  t.equal(exit, 0)
  t.match(stdout, '\nValid: ')
  t.equal(stderr, 'Token: \n')
})

t.test('an argument works, with a warning that does not repeat it', async (t) => {
  const token = service.generateToken('alice')
  for (const words of [
    ['inspect', token],
    ['inspect', token, '--json'],
  ]) {
    const { exit, stderr } = await cli(words, { env, stdin: piped('x.y.z') })
    t.equal(exit, 0, 'what is piped in beside it is not read')
    t.match(stderr, /^Warning: other users and the shell history see arguments\. Pipe the token in/)
    t.notMatch(stderr, token)
  }
  t.equal((await cli(['inspect', '-'], { env, stdin: piped(token) })).stderr, '')
})

t.test('JSON', async (t) => {
  const claims = { sub: 'alice', exp: now() + 60 }
  const { exit, stdout } = await cli(['inspect', '--json'], { env, stdin: piped(sign(claims)) })
  t.equal(exit, 0)
  t.strictSame(JSON.parse(stdout), {
    ok: true,
    valid: true,
    reason: 'signed with HS256, with the key of AUTH_JWT_SECRET.',
    header,
    claims,
    scopes: [],
  })
  const garbage = await cli('inspect garbage --json', { env })
  t.equal(garbage.exit, 1)
  t.strictSame(JSON.parse(garbage.stdout), {
    ok: false,
    valid: false,
    code: 'ERR_AUTH_JWT_INVALID',
    reason: 'it is no JSON Web Token: expected three parts with dots between them, found 1.',
    header: null,
    claims: null,
    scopes: null,
  })
})

t.test('why it is not valid: what the server finds, in words', async (t) => {
  const exp = now() + 60
  const good = { sub: 'alice', exp }
  const other = hmacToken(header, good, 'y'.repeat(64))
  const valid = sign(good)
  const invalid = 'ERR_AUTH_JWT_INVALID'
  const cases: [token: string, words: string[], code: string, reason: RegExp][] = [
    [
      sign({ sub: 'a', exp: now() - 181 }),
      [],
      'ERR_AUTH_JWT_EXPIRED',
      /^it expired: .*Z, 3 minutes \d seconds? ago\.$/,
    ],
    [
      sign({ ...good, nbf: now() + 999 }),
      [],
      'ERR_AUTH_JWT_NOT_VALID_YET',
      /^its time has not come: .*Z, in 16 minutes/,
    ],
    [sign({ sub: 'a', exp: -1e300 }), [], 'ERR_AUTH_JWT_EXPIRED', /^it expired: -1e\+300\.$/],
    [
      sign({ ...good, nbf: 1e300 }),
      [],
      'ERR_AUTH_JWT_NOT_VALID_YET',
      /^its time has not come: 1e\+300\.$/,
    ],
    [
      other,
      [],
      invalid,
      /^its signature does not fit: .* another key than that of AUTH_JWT_SECRET/,
    ],
    [`${valid.slice(0, valid.lastIndexOf('.'))}.`, [], invalid, /^it has no signature\.$/],
    [`${valid}x`, [], invalid, /^its signature (?:is damaged|does not fit)/],
    [`${valid}xx`, [], invalid, /^its signature (?:is damaged|does not fit)/],
    [
      `${valid.slice(0, -1)}${valid.endsWith('8') ? '9' : '_'}`,
      [],
      invalid,
      /^its signature (?:is damaged|does not fit)/,
    ],
    [
      service.generateTokenWithClaims(good, 'HS512'),
      [],
      invalid,
      /^its algorithm is "HS512", the server accepts HS256 only\. If yours has another signingMethod: --alg HS512$/,
    ],
    [
      valid,
      ['--alg', 'HS384'],
      invalid,
      /^its algorithm is "HS256", the server accepts HS384 only\.$/,
    ],
    [
      `${encode({ alg: 'none' })}.${encode(good)}.`,
      [],
      invalid,
      /^its algorithm is "none", the server accepts HS256 only\.$/,
    ],
    [`${encode({})}.${encode(good)}.AAAA`, [], invalid, /^its algorithm is missing/],
    [sign({ sub: 'a' }), [], invalid, /^the claim "exp" is missing: a token has to expire\.$/],
    [
      sign({ sub: 'a', exp: 'soon' }),
      [],
      invalid,
      /^the claim "exp" is "soon", expected seconds since 1970\.$/,
    ],
    [sign({ ...good, nbf: [] }), [], invalid, /^the claim "nbf" is \[\], expected seconds/],
    [valid, ['--issuer', 'me'], invalid, /^the claim "iss" is missing, expected "me"\.$/],
    [
      sign({ ...good, aud: 'b' }),
      ['--audience', 'a'],
      invalid,
      /^the claim "aud" is "b", expected one of \["a"\]\.$/,
    ],
    [sign({ exp }), [], invalid, /^the claim "sub", which names the user, is missing, expected/],
    [sign({ ...good, sub: null }), [], invalid, /^the claim "sub", .* is null, expected/],
    [sign({ ...good, sub: 'a\0' }), [], invalid, /^the claim "sub", .* without control characters/],
    [valid, ['--claim-name', 'userid'], invalid, /^the claim "userid", .* is missing/],
    [sign(good, { crit: ['x'] }), [], invalid, /^its header demands extensions/],
    [sign(good, { crit: null }), [], invalid, /^its header demands extensions/],
    [
      hmacToken(header, Buffer.from(`{"sub":"\xff","exp":${exp}}`, 'latin1'), secret),
      [],
      invalid,
      /^its claims are no UTF-8\.$/,
    ],
  ]
  for (const [token, words, code, reason] of cases) {
    const { exit, stdout, stderr } = await cli(['inspect', ...words, '--json'], {
      env,
      stdin: piped(token),
    })
    t.strictSame([exit, stderr], [1, ''], String(reason))
    const found = JSON.parse(stdout) as Record<string, unknown>
    t.strictSame([found.ok, found.valid, found.code], [false, false, code])
    t.match(found.reason, reason)
    const text = await cli(['inspect', ...words], { env, stdin: piped(token) })
    t.equal(text.exit, 1)
    t.ok(text.stdout.includes(`\nNot valid (${code}): `))
  }
})

t.test('the rules of the server can be given', async (t) => {
  const token = sign({ sub: 'a', iss: 'me', aud: ['x', 'b'], exp: now() - 20 })
  const words = ['--issuer', 'me', '--audience', 'a', '--audience', 'b', '--clock-tolerance', '60']
  t.equal((await cli(['inspect', ...words], { env, stdin: piped(token) })).exit, 0)
  const named = sign({ userid: 7, exp: now() + 60 })
  t.equal((await cli(['inspect', '--claim-name', 'userid'], { env, stdin: piped(named) })).exit, 0)
  for (const tolerance of ['301', '1.5', 'x']) {
    const { exit, stderr } = await cli(['inspect', '--clock-tolerance', tolerance], {
      env,
      stdin: piped(token),
    })
    t.equal(exit, 2)
    t.match(stderr, 'option --clock-tolerance: expected seconds, 0 to 300.')
  }
})

t.test('other keys', async (t) => {
  const config = { ecdsa: { private: privatePem(keys.p384.privateKey) } }
  const token = new JwtService({ ...config, signingMethod: 'ES384' }).generateToken('alice')
  const variables = { AUTH_JWT_ECDSA_PUBLIC: publicPem(keys.p384.publicKey) }
  const { exit, stdout } = await cli(['inspect'], { env: variables, stdin: piped(token) })
  t.equal(exit, 0)
  t.match(stdout, 'Valid: signed with ES384, with the key of AUTH_JWT_ECDSA_*.')
  // The public key as a secret: the algorithm is the server's choice, not the token's.
  const confused = hmacToken(header, { sub: 'a', exp: now() + 60 }, variables.AUTH_JWT_ECDSA_PUBLIC)
  const refused = await cli(['inspect'], { env: variables, stdin: piped(confused) })
  t.equal(refused.exit, 1)
  t.match(refused.stdout, /its algorithm is "HS256", the server accepts ES384 only\.$/m)
})

t.test('without a key, or with a bad one, it is shown and not judged', async (t) => {
  const token = service.generateToken('alice')
  const pairs = {
    AUTH_JWT_RSA_PUBLIC: publicPem(keys.rsa.publicKey),
    AUTH_JWT_ECDSA_PUBLIC: publicPem(keys.p256.publicKey),
  }
  const cases: [env: Record<string, string>, words: string[], reason: RegExp][] = [
    [{}, [], /Not checked: no key is configured: .* Set one, or name a file/],
    [{ AUTH_JWT_SECRET: 'short' }, [], /Not checked: AUTH_JWT_SECRET: is 40 bits long/],
    [
      env,
      ['--alg', 'RS256'],
      /Not checked: AUTH_JWT_RSA_\*: is missing, but .* needs it for RS256/,
    ],
    [pairs, [], /Not checked: several key pairs are configured\. Say which/],
  ]
  for (const [env, words, reason] of cases) {
    const { exit, stdout, stderr } = await cli(['inspect', ...words], { env, stdin: piped(token) })
    t.strictSame([exit, stderr], [1, ''])
    t.match(stdout, /\nClaims\n {2}sub {2}"alice"\n/)
    t.match(stdout, reason)
  }
  const { stdout } = await cli(['inspect', '--json'], { stdin: piped(token) })
  t.match(JSON.parse(stdout), { ok: false, valid: null })
})

t.test('what is no token gets a friendly answer', async (t) => {
  const cases: [text: string, reason: RegExp][] = [
    ['', /found nothing\.$/],
    ['Bearer ', /three parts/],
    ['garbage', /found 1\.$/],
    ['a.b', /found 2\.$/],
    ['a.b.c.d.e', /found 5\. Five are an encrypted token \(JWE\), which is not supported\.$/],
    ['a.b.c', /its first part is no base64url of a JSON object\.$/],
    [`${encode([])}.${encode({})}.x`, /its first part/],
    [`${encode('null')}.${encode({})}.x`, /its first part/],
    [`${encode(header)}.${encode('"text"')}.x`, /its second part/],
    [`${encode(header)}.{"sub":1}.x`, /its second part/],
    ['..', /its first part/],
  ]
  for (const [text, reason] of cases) {
    const { exit, stdout, stderr } = await cli('inspect', { env, stdin: piped(text) })
    t.strictSame([exit, stderr], [1, ''])
    const line = stdout.trimEnd().split('\n').at(-1)
    t.match(line, /^Not valid \(ERR_AUTH_JWT_INVALID\): it is no JSON Web Token: /)
    t.match(line, reason)
  }
  const half = await cli('inspect', { env, stdin: piped(`${encode(header)}.x.x`) })
  t.match(half.stdout, /^Header\n {2}alg {2}"HS256"\n/, 'what can be read is shown')
})

t.test('claims that are nested deeper than the stack is', async (t) => {
  const deep = `{"a":${'['.repeat(200_000)}${']'.repeat(200_000)}}`
  const token = `${encode(header)}.${encode(deep)}.x`
  const { exit, stdout, stderr } = await cli('inspect', { env, stdin: piped(token) })
  t.strictSame([exit, stderr], [1, ''])
  // Newer versions of Node.js can read them, and then the signature is what is wrong.
  t.match(stdout, /\nNot valid \(ERR_AUTH_JWT_INVALID\): (?:it is no JSON Web Token|its signature)/)
})

t.test('times and names that are hostile', async (t) => {
  const hostile = '\u001b[2J\u001b]0;owned\u0007\r\n\u009b31m\u202e'
  const token = sign(
    { sub: 'a', exp: 1e300, nbf: -1e300, iat: 1e20, [hostile]: hostile, __proto__: 1 },
    { kid: hostile },
  )
  for (const words of [['inspect'], ['inspect', '--json']]) {
    const { exit, stdout, stderr } = await cli(words, { env, stdin: piped(token) })
    t.strictSame([exit, stderr], [0, ''])
    t.match(stdout, /^[ -~\n]+$/, 'nothing but what is printed')
  }
  const empty = await cli(['inspect'], { env, stdin: piped(`${encode({})}.${encode({})}.AAAA`) })
  t.match(empty.stdout, /^Header\n {2}none\n\nClaims\n {2}none\n\nNot valid/)
})

t.test('what nobody has thought of is no verdict', async (t) => {
  const env = {
    get AUTH_JWT_SECRET(): string {
      throw new TypeError('my secret')
    },
  }
  t.strictSame(await cli(['inspect'], { env, stdin: piped(service.generateToken('alice')) }), {
    exit: 1,
    stdout: '',
    stderr: 'fastify-authn inspect: unexpected error (TypeError).\n',
  })
})

t.test('what it is for', async (t) => {
  const claims = { sub: 'alice', exp: now() + 60 }
  const seen = async (typ: unknown, ...words: string[]): Promise<[unknown, string]> => {
    const token = sign(claims, { typ })
    const { exit, stdout } = await cli(['inspect', ...words], { env, stdin: piped(token) })
    return [exit, stdout]
  }
  const accepted: [unknown, ...string[]][] = [
    ['JWT'],
    ['application/at+JWT'],
    [undefined],
    ['Reset+jwt', '--typ', 'reset+jwt'],
    ['b', '--typ', 'a', '--typ', 'B'],
  ]
  for (const [typ, ...words] of accepted) {
    t.equal((await seen(typ, ...words))[0], 0, JSON.stringify([typ, words]))
  }
  const refused: [unknown, string[], string][] = [
    ['reset+jwt', [], '"reset+jwt", expected "JWT", "at+jwt" or none.'],
    [null, [], 'null, expected "JWT", "at+jwt" or none.'],
    ['', [], '"", expected "JWT", "at+jwt" or none.'],
    ['JWT', ['--typ', 'a', '--typ', 'b'], '"JWT", expected one of ["a","b"].'],
    [undefined, ['--typ', 'reset+jwt'], 'missing, expected one of ["reset+jwt"].'],
  ]
  for (const [typ, words, reason] of refused) {
    const [exit, stdout] = await seen(typ, ...words)
    t.equal(exit, 1)
    const start = '\nNot valid (ERR_AUTH_JWT_INVALID): its purpose ("typ") is '
    t.ok(stdout.endsWith(`${start}${reason}\n`), stdout)
  }
  t.equal((await seen('JWT', '--typ', ' '))[0], 2)
})

t.test('its scopes, as a mark finds them', async (t) => {
  const cases: [object, string[], string][] = [
    [{ scope: ' b  a ' }, ['b', 'a'], '  "b"\n  "a"'],
    [{ scp: ['a b', '\u001b[31mc'] }, ['a b', '\u001b[31mc'], '  "a b"\n  "\\u001b[31mc"'],
    [
      { scope: ['a'], scp: 'a' },
      [],
      '  none in the claim "scope": expected names with spaces between them',
    ],
    [{ scope: '' }, [], '  none in the claim "scope": expected names with spaces between them'],
    [
      { scp: ['a', 1] },
      [],
      '  none in the claim "scp": expected names with spaces between them, or an array of texts',
    ],
  ]
  for (const [claims, scopes, lines] of cases) {
    const token = sign({ sub: 'alice', exp: now() + 60, ...claims })
    const { stdout } = await cli('inspect', { env, stdin: piped(token) })
    t.ok(stdout.includes(`\n\nScopes\n${lines}\n\nValid: `), stdout)
    const { stdout: json } = await cli('inspect --json', { env, stdin: piped(token) })
    t.strictSame((JSON.parse(json) as { scopes: unknown }).scopes, scopes)
  }
  const { stdout } = await cli('inspect', { env, stdin: piped(service.generateToken('alice')) })
  t.notMatch(stdout, 'Scopes', 'nothing where there is no claim')
})

t.test('the issuer that would judge a token, by its iss', async (t) => {
  const lines = async (iss: unknown, more = ''): Promise<string> => {
    const token = sign({ sub: 'alice', exp: now() + 60, iss })
    return (await cli(`inspect ${more}`, { env, stdin: piped(token) })).stdout
  }
  const url = 'https://id.example.com/realms/corp'
  for (const iss of [url, `${url}/`]) {
    const found = await lines(iss)
    t.ok(
      found.includes(`\n\nIssuer\n  That of the option "issuers" with issuer: "${iss}", `),
      found,
    )
    t.ok(found.includes(`\n  "${url}/.well-known/openid-configuration" names, or its jwksUri.\n\n`))
  }
  t.notMatch(await lines(url, `--issuer ${url}`), '\nIssuer\n', 'it is the server itself')
  for (const iss of ['corp', 7, [url], 'http://id.example.com', `${url} x`]) {
    t.notMatch(await lines(iss), '\nIssuer\n', String(iss))
  }
})
