// program: browser
import type { FastifyReply, FastifyRequest } from 'fastify'
import { setImmediate } from 'node:timers/promises'
import t, { type Test } from 'tap'
import type { AccountsOptions, AuthnOptions, MailLoginOptions } from '../../lib/index.js'
import { accountAttacks, authnTesting } from '../../lib/testing/index.js'
import { appWith, secret, standardOptions } from '../helpers/app.js'
import { storeWith } from '../helpers/sessions.js'
import { rejectionOf } from '../helpers/errors.js'

type AcceptsMail = NonNullable<MailLoginOptions<Row>['accept']>

interface Row {
  id: number
  email: string | null
  password: string | null
}

type Accounts = AccountsOptions<Row>
type Update = Accounts['update']

/** The functions of an app over a table, as a test replaces them. */
interface Functions {
  find(name: string | number): Row | undefined
  create: Accounts['create']
  update: Update
  remove?: Accounts['remove'] | undefined
}

/** Right functions. The rows are shared between requests, as an ORM with an identity map has them. */
function functionsOf(table: Row[]): Functions {
  return {
    find: (name) => table.find(({ id, email }) => String(id) === String(name) || email === name),
    create({ email, passwordHash }) {
      if (table.some((row) => row.email === email)) return null
      return table.push({ id: nextId(), email, password: passwordHash })
    },
    update(user, after, before) {
      if (user.email !== before.email || user.password !== before.passwordHash) return false
      return store(user, after)
    },
    remove: (user) => table.splice(table.indexOf(user), 1),
  }
}

let lastId = 0
const nextId = (): number => (lastId += 1)
const store = (row: Row, { email, passwordHash }: Parameters<Update>[1]): Row =>
  Object.assign(row, { email, password: passwordHash })

type Replace = (right: Functions, table: Row[]) => Partial<Functions>

/** An app with accounts over a table in memory, which has a user beforehand. */
async function open(
  t: Test,
  replace: Replace = () => ({}),
  accounts: Partial<Accounts> = {},
  options: Partial<AuthnOptions<Row>> = {},
  hasKit = true,
) {
  const table: Row[] = [{ id: nextId(), email: 'alice@example.com', password: null }]
  const right = functionsOf(table)
  const { find, create, update, remove } = { ...right, ...replace(right, table) }
  const sent: unknown[] = []
  const all: AuthnOptions<Row> = {
    userService: {
      async findByUsername(name) {
        await setImmediate()
        return find(name)
      },
    },
    jwt: { secret },
    login: { usernameField: 'email', subject: ({ id }) => id },
    sessions: true,
    cookies: true,
    accounts: {
      url: 'https://shop.example/account',
      create,
      update,
      ...(remove && { remove }),
      sendMail: (mail) => sent.push(mail),
      ...accounts,
    },
    ...options,
  }
  const app = await appWith(t, all as object, async (app) => {
    if (hasKit) await app.register(authnTesting)
  })
  return { app, table, sent }
}

t.test('accountAttacks() finds nothing in a right app, and leaves nothing behind', async (t) => {
  const login = { usernameField: 'email', subject: ({ id }: Row) => id }
  const rows: [string, Partial<Accounts>, Partial<AuthnOptions<Row>>][] = [
    ['cookies', {}, {}],
    ['tokens', {}, { cookies: undefined }],
    [
      'other paths and fields, and tokens in another body',
      {},
      {
        cookies: undefined,
        login: {
          ...login,
          path: '/auth/in/',
          usernameField: 'mail',
          passwordField: 'pw',
          body: ({ token, refreshToken }: { token: string; refreshToken?: string }) => ({
            refresh_token: refreshToken,
            access_token: token,
          }),
        },
      },
    ],
    ['logins by e-mail', {}, { mailLogin: true }],
    ['links alone', {}, { mailLogin: { code: false }, cookies: undefined }],
    ['strict limits', { limits: { perRecipient: 3, perAddress: 1 }, minPasswordLength: 64 }, {}],
  ]
  for (const [title, accounts, options] of rows) {
    const { app, table, sent } = await open(t, undefined, accounts, options)
    for (let run = 0; run < 2; run += 1) {
      const report = await accountAttacks(app)
      t.strictSame([report.problems, report.leftOut], [[], []], `${title}: ${String(report)}`)
      t.ok(report.cases > 40, `${report.cases} cases`)
    }
    t.strictSame([table.length, sent.length], [1, 0])
  }
})

t.test('accountAttacks() plays an app without passwords by its e-mails', async (t) => {
  const options = {
    login: { usernameField: 'email', subject: ({ id }: Row) => id, passwords: false },
    mailLogin: true,
  } as const
  const { app, table, sent } = await open(t, undefined, {}, options)
  const report = await accountAttacks(app)
  t.strictSame([report.problems, report.leftOut], [[], []], String(report))
  t.ok(report.cases > 40)
  t.strictSame([table.length, sent.length], [1, 0])
})

t.test(
  'accountAttacks() finds e-mails that log in twice, and says where none is sent',
  async (t) => {
    const store = storeWith((held) => ({ create: (given) => held.create({ ...given, once: 0 }) }))
    const options = { mailLogin: true, sessions: { store } } as const
    const { app } = await open(t, undefined, {}, options)
    const { problems } = await accountAttacks(app)
    t.match(problems, [{ case: 'an e-mail that was used' }, { case: 'an e-mail that was used' }])
    const none = await open(t, undefined, {}, { mailLogin: { accept: () => false } })
    const report = await accountAttacks(none.app)
    t.strictSame(report.problems, [])
    t.match(report.leftOut, [/^logins by e-mail/])
    const accept: AcceptsMail = (_user, { url }) => !url.endsWith('finish')
    const rejecting = await open(t, undefined, {}, { mailLogin: { accept } })
    const last = (await accountAttacks(rejecting.app)).problems
    t.match(last, [{ case: 'a login by e-mail', status: 401 }])
  },
)

t.test('accountAttacks() finds nothing with invitations, fields and hooks of apps', async (t) => {
  const bodies: unknown[] = []
  const preHandler = async ({ body }: FastifyRequest, reply: FastifyReply): Promise<unknown> => {
    bodies.push(body)
    const { captcha } = body as { captcha?: string }
    return captcha === 'test' ? undefined : reply.code(400).send('captcha')
  }
  const login = { subject: ({ id }: Row) => id, routeOptions: { preHandler } }
  const data: unknown[] = []
  const replace: Replace = ({ create }) => ({
    create(account, request) {
      data.push(account.invitation, (request.body as { role: string }).role)
      return create(account, request)
    },
  })
  const { app, table } = await open(t, replace, { signUp: false }, { login })
  const report = await accountAttacks(app, {
    create: { role: 'member', token: 'not this one' },
    loginFields: { captcha: 'test' },
  })
  t.strictSame([report.problems, report.leftOut], [[], []], String(report))
  t.strictSame(
    [data.slice(0, 2), table.length],
    [[{ role: 'member', token: 'not this one' }, 'member'], 1],
  )
  const hooked = await open(t, undefined, { routeOptions: { preHandler } })
  const fields = { create: { captcha: 'test' } }
  t.strictSame((await accountAttacks(hooked.app, fields)).problems, [])
  const [first] = (await accountAttacks(hooked.app)).problems
  t.match(first, { case: 'sign-up', status: 400, why: /rejected/ })
})

t.test('accountAttacks() finds nothing where each request has its own copy of a row', async (t) => {
  const { app, table } = await open(t, ({ find, update, remove }) => {
    const row = ({ id }: Row): Row => find(id) as Row
    return {
      find: (name) => structuredClone(find(name)),
      update: (user, after, before) => update(row(user), after, before),
      remove: (user, request) => remove?.(row(user), request),
    }
  })
  const report = await accountAttacks(app)
  t.strictSame([report.problems, report.leftOut], [[], []], String(report))
  t.equal(table.length, 1)
})

t.test('accountAttacks() says what it cannot prove', async (t) => {
  const throttled = await open(t, undefined, { limits: { perRecipient: 1 } })
  const [problem] = (await accountAttacks(throttled.app)).problems
  t.match(problem, { case: 'sign-up: e-mails', status: null, why: /^throttled/ })
  const { app, table, sent } = await open(t, () => ({ remove: undefined }))
  const report = await accountAttacks(app)
  t.strictSame(report.problems, [])
  t.match(report.leftOut, [/^deletion of authn-attack-.*-a@/, /^deletion of authn-attack-/])
  t.equal(table.length, 3)
  const email = 'bob@example.com'
  await app.inject({ method: 'POST', url: '/sign-up', payload: { email } })
  await app.authn.accounts.settled()
  t.match(sent, [{ kind: 'sign-up', to: email }], 'mails are sent again')
})

t.test('accountAttacks() leaves out what the columns of an app cannot store', async (t) => {
  const columns: [field: keyof Parameters<Update>[1], leftOut: RegExp[]][] = [
    ['email', [/^first address: /]],
    ['passwordHash', [/^first address: /, /^first password: /]],
  ]
  for (const [field, leftOut] of columns) {
    for (const reject of [() => false, () => Promise.reject(new Error('not null'))]) {
      const { app } = await open(t, ({ update }) => ({
        update: (user, after, before) =>
          after[field] === null ? reject() : update(user, after, before),
      }))
      const report = await accountAttacks(app)
      t.strictSame(report.problems, [], field)
      t.match(report.leftOut, leftOut)
      t.equal(report.leftOut.length, leftOut.length)
    }
  }
})

t.test('accountAttacks() needs accounts and authnTesting', async (t) => {
  const without = await appWith(t, standardOptions(), (app) => app.register(authnTesting))
  const { app } = await open(t, undefined, {}, {}, false)
  for (const each of [without, app]) {
    const { code, message } = await rejectionOf(accountAttacks(each))
    t.match([code, message], ['ERR_AUTH_TESTING', /accountAttacks/])
  }
})

/** Functions of an app that are wrong, and a case that finds them. */
function finds(title: string, found: RegExp, replace: Replace): void {
  t.test(`accountAttacks() finds that ${title}`, async (t) => {
    const report = await accountAttacks((await open(t, replace)).app)
    const cases = report.problems.map((problem) => problem.case)
    const seen = cases.some((each) => found.test(each))
    t.ok(seen, String(report))
    t.match(report.problems, [{ why: /./ }])
  })
}

finds('update does not compare', /^two resets at once$/, () => ({
  update: (user, after) => store(user, after),
}))
finds(
  'update compares with the user, an object that is shared',
  /^two resets at once$/,
  ({ find }) => ({
    update(user, after) {
      const row = find(user.id)
      return row?.email === user.email && row.password === user.password && store(row, after)
    },
  }),
)
finds('update compares the address alone', /^two resets at once$/, () => ({
  update: (user, after, before) => user.email === before.email && store(user, after),
}))
finds('update compares the hash alone', /^two changes of address at once$/, () => ({
  update: (user, after, before) => user.password === before.passwordHash && store(user, after),
}))
finds('update stores nothing', /^two resets at once$/, () => ({ update: () => true }))
finds(
  'update compares the address as = does in SQL, by which null equals nothing',
  /^first address$/,
  ({ update }) => ({
    update: (user, after, before) => before.email !== null && update(user, after, before),
  }),
)
finds(
  'update compares the hash as = does in SQL',
  /^two first passwords at once$/,
  ({ update }) => ({
    update: (user, after, before) =>
      (before.email === null || before.passwordHash !== null) && update(user, after, before),
  }),
)
finds('update compares, and stores nothing', /^two resets at once: login$/, () => {
  const used = new Set<string>()
  const isNew = (key: string) => !used.has(key) && used.add(key)
  return { update: (_user, _after, before) => isNew(JSON.stringify(before)) }
})
finds('update stores and says nothing', /^two resets at once$/, ({ update }) => ({
  update: (...given) => void update(...given),
}))
finds('update stores the hash alone', /^two changes of address at once/, ({ update }) => ({
  update: (user, after, before) => update(user, { ...after, email: before.email }, before),
}))
finds('update stores the address alone', /^two resets at once$/, ({ update }) => ({
  update: (user, after, before) =>
    update(user, { ...after, passwordHash: before.passwordHash }, before),
}))
finds('create overwrites', /^two sign-ups at once$/, ({ find }, table) => ({
  create({ email, passwordHash }) {
    const row = find(email)
    return row
      ? store(row, { email, passwordHash })
      : table.push({ id: nextId(), email, password: passwordHash })
  },
}))
finds('create stores an address twice', /^two sign-ups at once$/, (_, table) => ({
  create: ({ email, passwordHash }) => table.push({ id: nextId(), email, password: passwordHash }),
}))
finds('create throws for a taken address', /^two sign-ups at once$/, ({ create }) => ({
  create(...given) {
    if (!create(...given)) throw new Error('unique index')
    return true
  },
}))
finds(
  'create spells the address in its own way, and it is not found',
  /^sign-up: login$/,
  ({ create }) => ({
    create: (account, request) =>
      create({ ...account, email: account.email.toUpperCase() }, request),
  }),
)
finds(
  'create spells the address in its own way, and it is found',
  /^password\/forgot: e-mails$/,
  ({ create }, table) => ({
    create: (account, request) =>
      create({ ...account, email: account.email.toUpperCase() }, request),
    find: (name) =>
      table.find(({ id, email }) => id === Number(name) || email === String(name).toUpperCase()),
  }),
)
finds('findByUsername finds no ids', /^sign-up: session$/, (_, table) => ({
  find: (name) => table.find(({ email }) => email === name),
}))
finds('findByUsername finds nothing in lower case', /^sign-up: login$/, (_, table) => ({
  find: (name) =>
    table.find(({ id, email }) => id === Number(name) || email?.toUpperCase() === name),
}))
finds(
  'findByUsername takes _ for any letter',
  /^password\/forgot: e-mails$/,
  ({ find }, table) => ({
    find(name) {
      const pattern = new RegExp(`^${String(name).replaceAll('.', '\\.').replaceAll('_', '.')}$`)
      return find(name) ?? table.find(({ email }) => pattern.test(String(email)))
    },
  }),
)
finds(
  'findByUsername finds the first user for a name that nobody has',
  /^sign-up: e-mails$/,
  ({ find }, table) => ({ find: (name) => find(name) ?? table[0] }),
)
finds(
  'findByUsername keeps users by their addresses',
  /^two resets at once: login$/,
  ({ find }) => {
    const cache = new Map<string | number, Row>()
    return {
      find(name) {
        const found = cache.get(name) ?? find(name)
        if (found && !cache.has(name)) cache.set(name, { ...found })
        return cache.get(name)
      },
      update: ({ id }, after, before) => {
        const row = find(id)
        return (
          row?.password === before.passwordHash && row.email === before.email && store(row, after)
        )
      },
    }
  },
)
finds(
  'findByUsername finds the newest user for each id',
  /session|link of another user|at once/,
  ({ find }, table) => ({ find: (name) => (/@/.test(String(name)) ? find(name) : table.at(-1)) }),
)
finds('remove deletes nothing', /^login after deletion$/, () => ({ remove: () => true }))

const email = (body: unknown): string => (body as { email: string }).email.trim().toLowerCase()

t.test('accountAttacks() finds hooks that tell who has an account', async (t) => {
  const tell = [
    (_reply: FastifyReply): unknown => ({ error: 'taken' }),
    (reply: FastifyReply): unknown => void reply.header('x-known', 'true'),
  ]
  for (const answer of tell) {
    const table: Row[] = []
    const onSend = async (request: FastifyRequest, reply: FastifyReply, payload: unknown) => {
      const isKnown = table.some(
        (row) => row.email === email({ email: '', ...(request.body as object) }),
      )
      return isKnown ? JSON.stringify(answer(reply) ?? {}) : payload
    }
    const routeOptions = { onSend: onSend as never }
    const { app } = await open(t, () => functionsOf(table), { routeOptions })
    const report = await accountAttacks(app)
    t.match(report.problems, [{ case: 'password/forgot: responses' }], String(report))
  }
})
