// `fastify-authn/browser/passkeys` without a browser: the authenticator is that of the test kit.
import { setTimeout as later } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { createPasskeys, type PasskeyList } from '../../lib/browser/passkeys.js'
import { virtualPasskey, type PasskeyResponse } from '../../lib/testing/index.js'
import { alice, shopOptions } from '../helpers/browser-factors.js'
import { offline, replaceGlobals, setUp, settle, status } from '../helpers/browser-session.js'

const origin = 'https://shop.example'

type Bytes = Record<string, Uint8Array | string>
interface Asked {
  readonly publicKey: Bytes & {
    user?: Bytes
    excludeCredentials?: Bytes[]
    allowCredentials?: Bytes[]
  }
  readonly mediation?: string
  readonly signal?: AbortSignal
}
type Answer = (asked: Asked) => Promise<unknown>

/** The options as a server sends them: what browsers get as bytes is in base64url. */
function jsonOf(value: unknown): never {
  const text = JSON.stringify(value, (_, member: unknown) =>
    member instanceof Uint8Array ? Buffer.from(member).toString('base64url') : member,
  )
  return JSON.parse(text) as never
}

/** An object of a password manager: it has no `toJSON()`, and its members are bytes. */
function credentialOf({ id, type, response }: PasskeyResponse): object {
  const { transports, ...texts } = response
  const bytes = Object.entries(texts).map(([name, text]) => {
    const { buffer, byteOffset, byteLength } = Buffer.from(String(text), 'base64url')
    return [name, buffer.slice(byteOffset, byteOffset + byteLength)]
  })
  const members: object = Object.fromEntries(bytes)
  return {
    id,
    type,
    response: { ...members, ...(transports && { getTransports: () => transports }) },
  }
}

/** A request that the browser shows until it is aborted. */
const until: Answer = ({ signal }) =>
  new Promise((_, reject) => {
    const aborted = (): void => reject(new DOMException('aborted', 'AbortError'))
    if (signal?.aborted) aborted()
    signal?.addEventListener('abort', aborted)
  })
const cancelled = { ok: false, status: 0, error: null, body: null, retryAfter: null }

/** A page with alice, logged in, and a browser that has passkeys unless it is asked otherwise. */
async function visit(
  t: Test,
  support: object | undefined = {},
  onStepUp = async () => false as unknown,
) {
  const { options, table } = shopOptions(origin)
  const all = await setUp(t, options)
  const authenticator = virtualPasskey({ origin, rpId: 'shop.example' })
  const asked: Asked[] = []
  const answers: Answer[] = []
  const told: object[] = []
  const ask = (standard: Answer) => async (given: Asked) => {
    asked.push(given)
    return (answers.shift() ?? standard)(given)
  }
  replaceGlobals(t, {
    navigator: {
      value: {
        credentials: {
          create: ask(async ({ publicKey }) =>
            credentialOf(authenticator.create(jsonOf(publicKey))),
          ),
          get: ask(async ({ publicKey }) => credentialOf(authenticator.get(jsonOf(publicKey)))),
        },
      },
    },
    PublicKeyCredential: {
      value: support && {
        isConditionalMediationAvailable: async () => true,
        signalAllAcceptedCredentials: async (known: object) => void told.push(known),
        ...support,
      },
    },
  })
  const session = all.open({ onStepUp })
  t.match(await session.logIn(alice), { ok: true })
  const passkeys = createPasskeys(session)
  all.log()
  return { ...all, table, session, passkeys, asked, answers, told }
}

t.test('a passkey is added, logs in, is renamed and removed', async (t) => {
  const { session, passkeys, asked, answers, told, log, state } = await visit(t)
  t.equal(passkeys.isSupported, true)
  const added = await passkeys.add('My phone')
  t.match(added, { ok: true, status: 201, body: { name: 'My phone', transports: ['internal'] } })
  const { id } = added.body as { id: string }
  await session.logOut()
  state.changes.length = 0
  log()
  t.match(await passkeys.logIn(), { ok: true, status: 200 })
  t.strictSame([session.loggedIn, state.changes], [true, ['login true']])
  t.strictSame(log(), ['/login/passkey/options 200', '/login/passkey 200'])
  t.equal((await session.fetch('/me')).status, 200)
  t.match(await passkeys.rename(id, 'Old phone'), { ok: true, status: 204 })
  const listed = await passkeys.list()
  t.match(listed, {
    ok: true,
    body: { rpId: 'shop.example', passkeys: [{ id, name: 'Old phone' }] },
  })
  const { rpId, userId } = listed.body as PasskeyList
  t.strictSame(told, [{ rpId, userId, allAcceptedCredentialIds: [id] }])

  const tablet = virtualPasskey({ origin, rpId })
  answers.push(async ({ publicKey }) => credentialOf(tablet.create(jsonOf(publicKey))))
  t.match(await passkeys.add(), { ok: true }, 'a second one needs no name')
  const [first, , second] = asked
  t.equal(Buffer.from(second?.publicKey.user?.id as Uint8Array).toString(), '1')
  const found = second?.publicKey.excludeCredentials?.map((each) => each.id)
  t.same(found, [Buffer.from(id, 'base64url')])
  t.equal(first?.signal, undefined)
  t.match(await passkeys.remove('x'), { ok: false, status: 403 })
  t.equal(told.length, 1, 'nothing is removed, and nothing is told')
  t.match(await passkeys.remove(id), { ok: true, status: 204, error: null })
  t.match(told, [{}, { userId, allAcceptedCredentialIds: [/^[\w-]{22}$/] }])
  t.equal((await passkeys.list()).ok, true)
})

t.test('who cancels gets no error, and other failures have one', async (t) => {
  const { passkeys, answers, answer, session, log } = await visit(t)
  const fail = (name: string) => () => Promise.reject(new DOMException(`the ${name}`, name))
  for (const [name, error] of [
    ['NotAllowedError', null],
    ['AbortError', null],
    ['SecurityError', 'the SecurityError'],
  ] as const) {
    for (const go of [() => passkeys.add(), passkeys.logIn, passkeys.confirm]) {
      answers.push(fail(name))
      t.strictSame(await go(), { ...cancelled, error }, name)
    }
  }
  answers.push(fail('InvalidStateError'))
  const again = await passkeys.add()
  t.match(again, { ...cancelled, error: String, code: 'exists' })
  t.notMatch(again.error, /InvalidStateError/, 'no text of the browser')
  const found = log().some((entry) => /^\/(login\/passkey|passkeys) /.test(entry))
  t.notOk(found, 'nothing was sent')
  answer('/login/passkey/options', status(429, { 'retry-after': '9' }, '{"error":"Later."}'))
  t.match(await passkeys.logIn(), { ok: false, status: 429, error: 'Later.', retryAfter: 9 })
  await passkeys.add()
  answer('/login/passkey', offline)
  t.match(await passkeys.logIn(), { status: 0, error: 'The server cannot be reached.' })
  answer('/passkeys', offline)
  t.match(await passkeys.list(), { ok: false, status: 0, error: 'The server cannot be reached.' })
  await session.logOut()
  t.match(await passkeys.list(), { ok: false, status: 401 })
})

t.test('autofill logs in by the passkey that the user chooses', async (t) => {
  const { session, passkeys, asked, log, state } = await visit(t)
  await passkeys.add()
  await session.logOut()
  state.changes.length = 0
  log()
  t.match(await passkeys.autofill(), { ok: true, status: 200 })
  t.match(asked[1], { mediation: 'conditional', signal: AbortSignal })
  t.strictSame(state.changes, ['login true'])
  t.strictSame(log(), ['/login/passkey/options 200', '/login/passkey 200'])
})

t.test('autofill has ended when another request begins', async (t) => {
  const { passkeys, answers, asked } = await visit(t)
  await passkeys.add()
  await passkeys.confirm()
  const events: string[] = []
  /** Takes a while to end, as browsers do. */
  const slow: Answer = (given) =>
    until(given).catch(async (error: unknown) => {
      await later(20)
      events.push('ended')
      throw error
    })
  for (const [name, go] of Object.entries({
    logIn: passkeys.logIn,
    confirm: passkeys.confirm,
    add: () => passkeys.add(),
  })) {
    answers.push(slow, async () => {
      events.push(name)
      throw new DOMException('', 'NotAllowedError')
    })
    const filled = passkeys.autofill()
    while (!asked.at(-1)?.mediation) await settle()
    t.strictSame(await go(), cancelled)
    t.strictSame(await filled, cancelled)
    t.strictSame(events.splice(0), ['ended', name])
    asked.length = 0
  }

  answers.push(slow, (given) => {
    events.push('second')
    return slow(given)
  })
  const first = passkeys.autofill()
  while (asked.length < 1) await settle()
  const second = passkeys.autofill()
  t.strictSame(await first, cancelled, 'a second one takes its place')
  while (asked.length < 2) await settle()
  const login = passkeys.logIn()
  t.strictSame(await second, cancelled)
  t.match(await login, { ok: true })
  t.strictSame(events, ['ended', 'second', 'ended'])

  const unborn = [passkeys.autofill(), passkeys.autofill()]
  answers.push(until, until)
  asked.length = 0
  while (asked.length < 1) await settle()
  t.strictSame(await Promise.race(unborn), cancelled)
  await passkeys.logIn()
  t.strictSame(await Promise.all(unborn), [cancelled, cancelled])
})

t.test('a second click, and autofill beside the button, are no error', async (t) => {
  const { session, passkeys, answers, asked } = await visit(t)
  let choose: (error: Error) => void = () => undefined
  const held: Answer = () => new Promise((_, reject) => (choose = reject))
  const others = createPasskeys(session)
  for (const go of [passkeys.logIn, () => passkeys.add()]) {
    answers.push(held)
    asked.length = 0
    const first = go()
    const clicks = [go, passkeys.autofill, others.logIn, others.autofill, () => others.add()]
    if (go === passkeys.logIn) clicks.push(passkeys.confirm, others.confirm)
    for (const click of clicks) t.strictSame(await click(), cancelled)
    while (asked.length === 0) await settle()
    for (const click of clicks) t.strictSame(await click(), cancelled)
    t.equal(asked.length, 1)
    choose(new DOMException('', 'NotAllowedError'))
    t.strictSame(await first, cancelled)
  }
  t.match(await passkeys.add(), { ok: true }, 'the next click asks again')
  answers.push(until)
  asked.length = 0
  const filled = others.autofill()
  while (asked.length === 0) await settle()
  t.match(await passkeys.logIn(), { ok: true })
  t.strictSame(await filled, cancelled, 'of another part of the page')
})

t.test('a passkey confirms that it is the user, and can add another one', async (t) => {
  const way = { now: async (): Promise<unknown> => false }
  const { session, passkeys, asked, answers, log, state, table } = await visit(t, {}, () =>
    way.now(),
  )
  const { id } = (await passkeys.add()).body as { id: string }
  state.changes.length = 0
  asked.length = 0
  log()
  t.match(await passkeys.confirm(), { ok: true, status: 200, error: null })
  t.strictSame(log(), ['/login/passkey/options 200', '/login/confirm 200'])
  t.strictSame(state.changes, [])
  const [given] = asked
  const found = given?.publicKey.allowCredentials?.map((each) => each.id)
  t.same(found, [Buffer.from(id, 'base64url')])
  t.match(await session.get('login/confirm'), {
    body: { mfa: true, methods: { mfa: ['passkey'] } },
  })

  // The access token has expired: only as the user, the server lists the passkeys of this one.
  state.ahead += 900_000
  asked.length = 0
  log()
  t.match(await passkeys.confirm(), { ok: true })
  t.equal(asked[0]?.publicKey.allowCredentials?.length, 1)
  t.equal(log()[0], '/login/refresh 200')

  state.ahead += 900_000
  t.match(await passkeys.add(), { ok: false, status: 401 })
  const tablet = virtualPasskey({ origin, rpId: 'shop.example' })
  way.now = async () => {
    answers.push(() => Promise.reject(new DOMException('', 'NotAllowedError')))
    t.strictSame(await passkeys.confirm(), cancelled)
    t.match(await passkeys.confirm(), { ok: true }, 'add() waits for it')
    answers.push(async ({ publicKey }) => credentialOf(tablet.create(jsonOf(publicKey))))
  }
  t.match(await passkeys.add('Tablet'), { ok: true, status: 201 })
  t.equal(table.length, 2)
})

t.test('no list takes a new passkey from the browser', async (t) => {
  const { passkeys, told, answer } = await visit(t)
  const { id } = (await passkeys.add()).body as { id: string }
  const { body } = await passkeys.list()
  const behind = status(200, {}, JSON.stringify({ ...(body as PasskeyList), passkeys: [] }))
  for (const late of [behind, behind]) {
    answer('/passkeys', late)
    t.match((await passkeys.list()).body, { passkeys: [] })
    t.match(told.at(-1), { allAcceptedCredentialIds: [id] })
  }
  await passkeys.confirm()
  t.match(await passkeys.remove(id), { ok: true })
  t.strictSame((told.at(-1) as { allAcceptedCredentialIds: string[] }).allAcceptedCredentialIds, [])
})

t.test('autofill asks for a new challenge before the old one expires', async (t) => {
  const { passkeys, answer, answers, asked, log } = await visit(t)
  await passkeys.add()
  log()
  const timer = globalThis.setTimeout
  const limits: number[] = []
  globalThis.setTimeout = ((run: () => void, milliseconds: number) => {
    if (milliseconds < 100_000) return timer(run, milliseconds)
    limits.push(milliseconds)
    return timer(run, 20)
  }) as never
  t.teardown(() => (globalThis.setTimeout = timer))
  answers.push(until, until)
  t.match(await passkeys.autofill(), { ok: true })
  const challenges = asked
    .slice(1)
    .map(({ publicKey }) => Buffer.from(publicKey.challenge as Uint8Array).toString('hex'))
  t.equal(new Set(challenges).size, 3)
  t.strictSame(limits, [540_000, 540_000, 540_000])
  t.equal(log().length, 4)

  // The user has chosen a passkey in the last moment: the login is on its way.
  answer('/login/passkey', async (reach) => {
    const response = await reach()
    await later(40)
    return response
  })
  t.match(await passkeys.autofill(), { ok: true })
  t.strictSame(log(), ['/login/passkey/options 200', '/login/passkey 200'])
})

t.test('autofill is silent where it cannot be offered', async (t) => {
  const { session, passkeys, answer, asked, answers, log } = await visit(t)
  answer('/login/passkey/options', offline)
  t.strictSame(await passkeys.autofill(), cancelled)
  t.strictSame(asked, [])
  answers.push(() => Promise.reject(new DOMException('', 'NotAllowedError')))
  t.strictSame(await passkeys.autofill(), cancelled, 'it is not offered again')
  log()
  replaceGlobals(t, { PublicKeyCredential: { value: {} } })
  const open = () => createPasskeys(session)
  t.strictSame(await open().autofill(), cancelled)
  t.equal(open().isSupported, true)
  replaceGlobals(t, { PublicKeyCredential: { value: undefined } })
  t.strictSame(await open().autofill(), cancelled)
  t.equal(open().isSupported, false)
  t.strictSame(log(), [])
})

t.test('a browser that cannot be told which passkeys are left is no error', async (t) => {
  const support = { signalAllAcceptedCredentials: () => Promise.reject(new Error('not here')) }
  const { passkeys } = await visit(t, support)
  t.match(await passkeys.list(), { ok: true })
  const { passkeys: older } = await visit(t, { signalAllAcceptedCredentials: undefined })
  t.match(await older.list(), { ok: true })
})
