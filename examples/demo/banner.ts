import { relative } from 'node:path'
import { demoUsers } from './people.js'
import type { Settings } from './config.js'

/** What is printed when the demo listens: lines to paste and, at last, so that it is seen, where it is and who can log in. */
export function banner(address: string, settings: Settings): string {
  const { bold, dim } = style(process.stdout)
  const facts = factsOf(address, settings).map(([name, text]) => `  ${dim(name.padEnd(9))} ${text}`)
  const flows = flowsOf(address, settings).map(
    ([title, ...lines]) => `  ${dim(`# ${title}`)}\n${lines.map((line) => `  ${line}`).join('\n')}`,
  )
  return [
    '',
    `  ${bold('Lines of curl')}: paste them into another terminal, from top to bottom.`,
    '',
    flows.join('\n\n'),
    '',
    `  ${bold('fastify-authn demo')} listens on ${bold(address)}`,
    '',
    ...facts,
    '',
    `  Ctrl-C ends it.`,
    '',
  ].join('\n')
}

function factsOf(
  address: string,
  { databaseUrl, dataDir, keysDir, basic, madeUp, host }: Settings,
) {
  const people = demoUsers
    .map(({ email, password, roles }) => `${email} / ${password} (${roles.join(', ')})`)
    .join(', ')
  const facts: [name: string, text: string][] = [
    [
      'Page',
      `${address}/app/ (notes, API keys, sign-up, login with a password or an OpenID provider)`,
    ],
    ['API', `${address}/docs (Swagger UI, to try the routes)`],
    ['Manual', `${address}/pages/ (the documentation of the package)`],
    ['Users', people],
    [
      'Admin',
      madeUp.basic
        ? `${basic.username} / ${basic.password} (generated for this run)`
        : `${basic.username}, with AUTH_BASIC_PASSWORD`,
    ],
    [
      'Database',
      databaseUrl !== undefined
        ? 'PostgreSQL, at DATABASE_URL'
        : dataDir !== undefined
          ? `embedded PostgreSQL, in ${dataDir}`
          : 'embedded PostgreSQL, in memory: gone when the demo ends',
    ],
    ['Keys', `RS256 and ES256, in ${relative('', keysDir) || '.'}`],
    [
      'Secret',
      madeUp.secret
        ? 'HS256, generated for this run: set AUTH_JWT_SECRET to keep tokens valid'
        : 'HS256, from AUTH_JWT_SECRET',
    ],
  ]
  if (!isLoopback(host)) {
    facts.push([
      'Warning',
      `anyone who reaches ${host} can sign in with these passwords, and read the demo's mails`,
    ])
  }
  return facts
}

/** Each flow: a title, then lines of shell. */
function flowsOf(address: string, { basic, madeUp }: Settings): [string, ...string[]][] {
  const [alice, bob] = demoUsers
  // Answers in JSON do not end with a new line, which would leave the prompt beside them.
  const curl = (path: string, ...options: string[]): string =>
    [`curl -sw '\\n'`, ...options, quote(address + path)].join(' ')
  const bearer = `-H "Authorization: Bearer $TOKEN"`
  const json = `-H 'Content-Type: application/json'`
  const note = `-d '{"title":"Tea","text":"At five."}'`
  const read = (member: string): string => `node -pe 'JSON.parse(fs.readFileSync(0)).${member}'`
  const newKey = `-d '{"name":"my script","scopes":["notes:read"],"days":30}'`
  // curl asks for a password that it is not given.
  const admin = madeUp.basic ? `${basic.username}:${basic.password}` : (basic.username ?? '')
  const login = (
    path: string,
    { email, password }: (typeof demoUsers)[number] = alice,
    ...options: string[]
  ): string => {
    const form = ['-d', `email=${email}`, '-d', `password=${password}`, ...options].join(' ')
    return `TOKEN=$(curl -s ${form} ${quote(address + path)} | ${read('token')})`
  }
  return [
    ['Open', curl('/'), curl('/notes/published')],
    ['Without a token, in French', curl('/me', `-i -H 'Accept-Language: fr'`)],
    ['Login, and a token of HS256', login('/login'), curl('/me', bearer)],
    ['Your notes', curl('/notes', bearer), curl('/notes', bearer, json, note)],
    [
      'An API key, for scripts: this one reads notes, and writes none',
      `KEY=$(${curl('/keys', bearer, json, newKey)} | ${read('key')})`,
      curl('/notes', `-H "Authorization: Bearer $KEY"`),
      curl('/notes', `-H "Authorization: Bearer $KEY"`, json, note),
    ],
    ['Optional: with and without a token', curl('/greeting'), curl('/greeting', bearer)],
    ['Try: a broken token is anonymous', curl('/feed', `-H 'Authorization: Bearer broken'`)],
    ['Basic, against the database', curl('/account', `-u ${bob.email}:${bob.password}`)],
    [
      'Either of the two',
      curl('/export', bearer),
      curl('/export', `-u ${bob.email}:${bob.password}`),
    ],
    ['Basic, against the configuration', curl('/admin/stats', `-u ${quote(admin)}`)],
    ['The open route of that group', curl('/admin/health')],
    [
      'A session of the page, as a phone would have it: tokens in place of cookies',
      login('/app/login', alice, `-H 'Token-Delivery: body'`),
      curl('/app/sessions', bearer),
    ],
    ['RS256', login('/rs256/login'), curl('/rs256/me', bearer)],
    ['ES256, with claims of the app', login('/es256/login'), curl('/es256/me', bearer)],
    [
      'For tokens with a scope: that of bob has another one',
      curl('/es256/notes', bearer, json, note),
      login('/es256/login', bob),
      curl('/es256/notes', '-i', bearer, json, note),
    ],
    [
      'For editors: bob is none',
      curl('/notes/published/4', '-i -X DELETE', `-u ${bob.email}:${bob.password}`),
      curl('/notes/published/4', '-i -X DELETE', `-u ${alice.email}:${alice.password}`),
    ],
  ]
}

/** Quotes a string, so that a POSIX shell takes it for one word. */
function quote(text: string): string {
  return /^[\w:/.@%+=,-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`
}

function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || host.startsWith('127.')
}

/** Bold and dim text where a person looks at it: https://no-color.org */
function style(stream: NodeJS.WriteStream) {
  const coloured = stream.isTTY && !process.env.NO_COLOR
  const wrap = (start: number, end: number) => (text: string) =>
    coloured ? `\u001b[${start}m${text}\u001b[${end}m` : text
  return { bold: wrap(1, 22), dim: wrap(2, 22) }
}
