// program: demo-page, in npm run test:all
// The page of the demo, in a real browser, as a person uses it. With PAGE_SCREENSHOT=file, LOGIN_SCREENSHOT=file
// or CODE_SCREENSHOT=file it leaves a picture there: those of the docs are docs/images/demo-page.png, login-with.png and
// second-factor.png.
import { execFile, execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type { Page } from 'playwright-core'
import decodeQR from 'qr/decode.js'
import t, { type Test } from 'tap'
import { totpCode } from 'fastify-authn/testing'
import { demoUsers, newcomer } from './users.js'
import { openPage } from '../../test/helpers/browser.js'
import { findProgram, unlessFound } from '../../test/helpers/programs.js'
import { root } from '../../test/helpers/project.js'
import { freePort } from '../../test/helpers/redis-server.js'
import { environment, startDemo } from '../support/demo.js'

const [alice] = demoUsers

t.test('the SQL files of the demo are what the command line prints', async (t) => {
  for (const command of ['sessions', 'api-keys']) {
    const args = ['dist/bin/fastify-authn.js', command, 'schema', '--prefix', 'demo']
    const printed = execFileSync(process.execPath, args, { cwd: root, encoding: 'utf8' })
    const file = `${command}.sql`
    t.equal(readFileSync(join(root, 'examples/demo', file), 'utf8'), printed)
  }
})

/** What a person does on a page, and sees there. */
function actions(page: Page) {
  const press = (name: string) => page.getByRole('button', { name, exact: true }).press('Enter')
  const sees = (what: string, hasText = '') => page.locator(what, { hasText }).first().waitFor()
  /** Fills in the fields of a form in their order, and sends it by the keyboard. */
  const fill = async (form: string, ...values: string[]): Promise<void> => {
    const fields = page.locator(`${form} input:visible`)
    for (const [index, value] of values.entries()) await fields.nth(index).fill(value)
    await fields.nth(values.length - 1).press('Enter')
  }
  return {
    page,
    press,
    sees,
    fill,
    says: (text: string) => sees('#news', text),
    unfold: (hasText: string) => page.locator('summary', { hasText }).press('Enter'),
    isVisible: (what: string, hasText = '') => page.locator(what, { hasText }).isVisible(),
    problem: (form: string) => page.locator(`${form} [role=alert]:not(:empty)`).innerText(),
    logIn: (name: string, password: string) => fill('#login', name, password),
    async logOut(): Promise<void> {
      await page.locator('#leave').click()
      await sees('[name=username]:focus')
    },
    /** Logs in at the provider as this one. */
    async signInAs(name: string): Promise<void> {
      await page.getByRole('link', { name: 'Sign in with the demo provider' }).click()
      await page.getByRole('button', { name, exact: true }).click()
    },
    async write(title: string): Promise<void> {
      await page.locator('#write [name=title]').fill(title)
      await page.locator('#write [name=text]').fill('At five.')
      await page.locator('#write .primary').click()
      await sees('#notes strong', title)
    },
    async linkIn(hasText: string): Promise<string> {
      const link = page.locator('#mails li', { hasText }).locator('a').first()
      return String(await link.getAttribute('href'))
    },
    /** Opens the link of the newest mail with the subject. */
    async openMail(hasText: string): Promise<void> {
      await press('See the mailbox')
      await sees('#mailbox-title:focus')
      await page.locator('#mails li', { hasText }).first().locator('a').press('Enter')
      await sees('[data-view]:not([hidden]) :focus')
    },
    /** In light and in dark, on a phone and on a desk. */
    async fits(t: Test): Promise<void> {
      const colours = new Set<unknown>()
      for (const colorScheme of ['light', 'dark'] as const) {
        await page.emulateMedia({ colorScheme })
        colours.add(await page.evaluate('getComputedStyle(document.body).backgroundColor'))
        for (const width of [360, 1280]) {
          await page.setViewportSize({ width, height: 800 })
          const found = await page.evaluate('document.documentElement.scrollWidth')
          t.equal(found, width, `${page.url()} at ${width} pixels, ${colorScheme}`)
        }
      }
      t.equal(colours.size, 2)
    },
  }
}

/** Starts the demo, and opens its page in a browser, whose console has to stay clean. */
async function visit(t: Test, { locale = 'en', env = {}, host = '127.0.0.1' } = {}) {
  // A demo with passkeys has to know its port.
  const port = host === 'localhost' ? await freePort() : 0
  const started = environment(t.testdir(), { PORT: String(port), ...env })
  const app = await startDemo(t, started)
  const address = await app.listen({ host: '127.0.0.1', port })
  const origin = address.replace('127.0.0.1', host)
  const visited = await openPage(t, findProgram('Chromium') ?? '', locale, [host])
  await visited.page.goto(`${origin}/app/`)
  return { ...actions(visited.page), ...visited, app, origin, started }
}

/** One test in a browser. */
function person(
  title: string,
  how: Parameters<typeof visit>[1],
  act: (t: Test, visited: Awaited<ReturnType<typeof visit>>) => Promise<void>,
): void {
  t.test(title, { skip: unlessFound('Chromium') }, async (t) => {
    const visited = await visit(t, how)
    await act(t, visited)
    // The browser notes every 401 and every connection that fails; nothing else is wrong.
    const isOther = (text: string): boolean => !text.startsWith('Failed to load resource: ')
    t.strictSame(visited.complaints.filter(isOther), [])
  })
}

/** Moves the clock of the server on, until the test ends. */
function clock(t: Test): (milliseconds: number) => void {
  const { now } = Date
  t.teardown(() => void (Date.now = now))
  return (milliseconds) => void (Date.now = () => now() + milliseconds)
}

person(
  'a user stays logged in, revokes other sessions, and logs out',
  // Tokens that live for two seconds, so that the page is open for longer than that soon.
  { env: { DEMO_DATA_DIR: join(t.testdir(), 'data'), AUTH_JWT_EXPIRY: '2' } },
  async (t, { page, origin, app, started, sees, ...person }) => {
    await sees('#login')
    await page.locator('#published li').nth(1).waitFor()
    t.strictSame(person.complaints, [], 'an anonymous visitor asks for nothing that needs a login')
    await person.logIn(alice.name, 'wrong')
    await sees('#problem', 'Invalid credentials.')
    await person.logIn(alice.name, alice.password)
    await sees('#notes strong', 'Shopping')
    await sees('#sessions li')
    t.equal(await page.locator('#sessions li').count(), 1)
    t.equal(await page.evaluate('document.cookie'), '')
    await person.write('Tea')

    // Another browser, which is logged out from here later.
    const other = await page.context().browser()?.newPage()
    if (other === undefined) throw new Error('no second browser')
    const second = actions(other)
    await other.goto(`${origin}/app/`)
    await second.logIn(alice.name, alice.password)
    await other.locator('#sessions li').nth(1).waitFor()

    // Beyond the life of the token: the user is not asked for a password.
    await page.waitForTimeout(2500)
    await person.write('<b>Milk</b>')
    t.equal(await person.isVisible('#login'), false)
    const picture = process.env.PAGE_SCREENSHOT
    if (picture !== undefined) {
      await page.setViewportSize({ width: 1000, height: 1090 })
      await page.screenshot({ path: picture })
    }
    await other.locator('#write [name=title]').fill('A draft')
    await page.locator('#sessions button').click()
    await page.locator('#sessions li').nth(1).waitFor({ state: 'detached' })
    // It finds out when its user looks at it, as soon as its token has expired.
    await other.waitForTimeout(2500)
    await other.evaluate("document.dispatchEvent(new Event('visibilitychange'))")
    await second.sees('#problem', 'revoked elsewhere')
    await second.logIn(alice.name, alice.password)
    await second.sees('#notes li')
    t.equal(await other.locator('#write [name=title]').inputValue(), 'A draft')

    // The server is started again, with another secret: the page goes on with the session in the database.
    await app.close()
    const again = await startDemo(t, { ...started, AUTH_JWT_SECRET: 'another-secret'.repeat(3) })
    await again.listen({ host: '127.0.0.1', port: Number(new URL(origin).port) })
    await person.write('Still here')
    t.equal(await person.isVisible('#login'), false)

    await page.locator('#leave-all').click()
    await sees('#login')
    await person.says('everywhere else')
    t.equal(await page.locator('#notes li').count(), 0)
    t.strictSame(await page.context().cookies(), [])
    const elsewhere = person.requests.filter((url) => !url.startsWith(origin))
    t.strictSame(elsewhere, [], 'it talks to no other server')
  },
)

person(
  'the page keeps what was typed through errors, and fits a phone',
  {},
  async (t, { page, origin, sees, ...person }) => {
    await page.getByRole('button', { name: 'Fill in bob' }).click()
    await page.locator('#login .primary:focus').press('Enter')
    const unpublish = page.locator('#published li button')
    await unpublish.first().click()
    await sees('#published-problem', 'editor')
    t.match(await page.locator('#published-problem code').innerText(), '403')

    // What was typed stays: offline, when the server fails, and until it is stored.
    const [title, add] = [page.locator('#write [name=title]'), page.locator('#write .primary')]
    await title.fill('Tea')
    await page.context().setOffline(true)
    await sees('#status', 'offline')
    await add.click()
    await sees('#write-problem', 'cannot be reached')
    await page.context().setOffline(false)
    await page.route('**/app/notes', (route) => route.fulfill({ status: 500, body: '{}' }))
    await add.click()
    await sees('#write-problem', '500')
    t.equal(await title.inputValue(), 'Tea')
    await page.unroute('**/app/notes')
    await add.click()
    await sees('#notes strong', 'Tea')
    t.equal(await title.inputValue(), '')
    await sees('#write [name=title]:focus')
    await person.press('Delete Tea')
    await page.locator('#notes strong', { hasText: 'Tea' }).waitFor({ state: 'detached' })
    await sees('#notes li:last-child button:focus')

    for (const path of ['/app/', '/pages/docs/reference/options.md']) {
      await page.goto(origin + path)
      await person.fits(t)
    }
    await page.goto(`${origin}/app/`)
    await person.logOut()
    await person.logIn(alice.name, alice.password)
    await unpublish.first().click()
    await unpublish.nth(1).waitFor({ state: 'detached' })
    await sees('#published li button:focus')
  },
)

person(
  'a user logs in with the provider by two clicks, and connects an account there',
  {},
  async (t, { page, origin, sees, says, ...person }) => {
    await page.locator('#published li').nth(1).waitFor()
    const picture = process.env.LOGIN_SCREENSHOT
    if (picture !== undefined) {
      await page.screenshot({ path: picture, clip: { x: 0, y: 0, width: 1000, height: 722 } })
    }
    const isIn = async (name: string): Promise<void> => {
      await sees('#notes strong', 'Shopping')
      t.equal(await page.locator('#name').innerText(), name)
      t.equal(page.url(), `${origin}/app/`, 'the address is that of the page again')
    }
    for (const { name } of demoUsers) {
      await person.signInAs(name)
      await isIn(name)
      await page.reload()
      await isIn(name)
      await person.logOut()
    }
    await page.getByRole('link', { name: 'Sign in with the demo provider' }).click()
    await person.fits(t)
    await page.getByRole('button', { name: 'Cancel' }).click()
    await sees('#problem', 'cancelled')
    await person.signInAs('carol')
    await sees('#problem', 'No user has connected')

    await person.logIn(alice.name, alice.password)
    await sees('#notes-title:focus')
    for (const [name, answer] of [
      ['bob', 'belongs to another user'],
      ['Cancel', 'Nothing was connected'],
      ['carol', 'is connected'],
    ] as const) {
      await person.unfold('Connect the demo provider')
      await page.getByRole('button', { name: 'Choose an account there' }).click()
      await page.getByRole('button', { name, exact: true }).click()
      await says(answer)
    }
    t.match(await page.locator('#connected').textContent(), '“alice”, “carol”')
    await person.logOut()
    await person.signInAs('carol')
    await isIn('alice')
    await person.logOut()
    t.strictSame(person.complaints, [])
    await page.goto(`${origin}/app/?provider=demo&error=Call+us`)
    await sees('#problem', 'has failed')
    t.notMatch(await page.content(), 'Call us', 'no word of the address is shown')
  },
)

person(
  'a person signs up, loses the password, and deletes the account',
  { locale: 'fr-FR' },
  async (t, { page, origin, sees, says, fill, press, problem, ...person }) => {
    const [first, second, third] = [1, 2, 3].map((each) => `passphrase number ${each}`) as [
      string,
      string,
      string,
    ]
    await press('Create an account')
    await fill('#sign-up', 'carol@example.org')
    await says('on its way to carol@example.org')
    await person.openMail('Finish your sign-up')
    t.equal(page.url(), `${origin}/app/`, 'the token is not in the address')
    await fill('#finish', first)
    await says('your name is carol-3')
    await sees('#notes-title:focus')

    await person.unfold('Change the password')
    await fill('#change-password', first, second)
    await says('Your password is changed')
    await sees('#sessions li')

    // The link of the new address waits for a login.
    await person.unfold('Change the e-mail address')
    await fill('#change-email', 'Jones@example.org', second)
    await says('Confirm Jones@example.org')
    await sees('#mails li', 'jones@example.org')
    const path = await person.linkIn('Confirm your new address')
    await person.logOut()
    await page.goto(origin + path)
    await says('Log in to confirm')
    await person.logIn('carol@example.org', second)
    await page.locator('#new-address .primary:focus').press('Enter')
    await says('jones@example.org now')
    t.equal(await page.locator('#name').innerText(), 'carol-3')

    await person.logOut()
    await press('Forgot your password?')
    await fill('#forgot', 'jones@example.org')
    await says('If jones@example.org has an account')
    await person.openMail('Choose a new password')
    await fill('#reset', third)
    await says('Log in with the new one')
    await person.logIn('carol-3', second)
    t.equal(await problem('#login'), 'Identifiants incorrects.', 'in French')
    await person.logIn('jones@example.org', third)
    await sees('#notes-title:focus')

    await person.unfold('Delete the account')
    await fill('#delete', third)
    await says('Your account is deleted')
    await sees('[name=username]:focus')
    t.strictSame(await page.context().cookies(), [])
  },
)

person(
  'a user of the provider gets an address and a password',
  {},
  async (t, { page, origin, sees, says, unfold, ...person }) => {
    const [email, first] = ['dora@example.org', 'a long passphrase']
    const enter = async (): Promise<void> => {
      await person.signInAs(newcomer)
      await sees('#name', newcomer)
    }
    await enter()
    t.equal(await person.isVisible('summary', 'Change the password'), false)
    await unfold('Set a password')
    await page.locator('#first-password .primary').click()
    await sees('#first-password [role=alert]', 'not allowed')

    await unfold('Change the e-mail address')
    await person.fill('#change-email', email)
    await says(`Confirm ${email}`)
    await person.openMail('Confirm your new address')
    await page.locator('#new-address .primary:focus').press('Enter')
    await says(`${email} now`)
    await unfold('Set a password')
    await page.locator('#first-password .primary').click()
    await says(`on its way to ${email}`)
    const path = await person.linkIn('Set a password')

    // The link waits for a login of its user.
    await person.logOut()
    await page.goto(origin + path)
    await says('Log in with the provider')
    await enter()
    await page.goto(origin + path)
    await person.fill('#set', first)
    await says('Your password is set')
    await sees('summary', 'Change the password')
    t.equal(await person.isVisible('summary', 'Set a password'), false)
    await person.logOut()
    await person.logIn(email, first)
    await sees('#name', newcomer)
  },
)

person(
  'a user makes, rotates and revokes an API key',
  {},
  async (t, { page, origin, app, sees, ...person }) => {
    await page.context().grantPermissions(['clipboard-read', 'clipboard-write'], { origin })
    await person.logIn(alice.name, alice.password)
    const [rows, add] = [page.locator('#keys li'), page.locator('#new-key .primary')]
    /** The states of the keys, and what scripts get with these. */
    const expectStates = async (states: string[], keys: Record<string, number>): Promise<void> => {
      t.strictSame(await page.locator('#keys .state').allInnerTexts(), states)
      for (const [key, status] of Object.entries(keys)) {
        const headers = { authorization: `Bearer ${key}` }
        t.equal((await app.inject({ url: '/notes', headers })).statusCode, status)
      }
    }
    const fresh = async (): Promise<string> => {
      await sees('#fresh:focus')
      return page.locator('#fresh-key').innerText()
    }

    await page.locator('#new-key [name=name]').fill('<b>nightly</b>')
    await add.click()
    const first = await fresh()
    await page.locator('#copy-key').click()
    await sees('#copy-key', 'Copied')
    t.equal(await page.evaluate('navigator.clipboard.readText()'), first)
    const line = await page.locator('#fresh-curl').innerText()
    const pasted = await promisify(execFile)('bash', ['-c', `${line} -s --noproxy '*'`])
    t.match(pasted.stdout, 'Shopping')
    await page.locator('#fresh-done').click()
    await sees('#new-key [name=name]:focus')
    t.notMatch(await page.content(), first)
    await page.reload()
    t.match(await rows.innerText(), /<b>nightly<\/b>[^]*active[^]*notes:read/)

    // By the keyboard: not yet, and then a rotation.
    await page.locator('#keys button', { hasText: 'Rotate' }).press('Enter')
    await sees('#confirm')
    await page.keyboard.press('Escape')
    await sees('#keys button:focus')
    await expectStates(['active'], { [first]: 200 })
    await page.keyboard.press('Enter')
    await page.locator('#confirm-yes').click()
    const second = await fresh()
    await rows.nth(1).waitFor()
    await expectStates(['active', 'replaced'], { [first]: 200, [second]: 200 })
    await rows.nth(0).locator('button', { hasText: 'Revoke' }).click()
    await page.locator('#confirm-yes').click()
    await sees('#keys li:focus')
    await expectStates(['revoked', 'replaced'], { [first]: 200, [second]: 401 })
    t.equal(await person.isVisible('#fresh'), false)

    // Revoked elsewhere meanwhile.
    const [, id] = /^demo_(.{16})/.exec(first) ?? []
    await app.authn.apiKeys.revoke(String(id), { owner: null })
    await rows.nth(1).locator('button').click()
    await page.locator('#confirm-yes').click()
    await sees('#keys-problem', 'no such key')
    await expectStates(['revoked', 'revoked'], { [first]: 401 })
  },
)

person(
  'a user without a second factor confirms by the password',
  {},
  async (t, { page, sees, ...person }) => {
    await person.logIn(alice.name, alice.password)
    await sees('#notes strong', 'Shopping')
    clock(t)(60_000)
    await person.unfold('stored about you')
    await page.locator('#export .primary').click()
    await person.fill('#code', 'wrong')
    await sees('#code .notice:not(:empty)')
    t.equal(await page.locator('#exported').innerText(), '')
    await person.fill('#code', alice.password)
    await sees('#exported', 'Shopping')
    t.equal(await page.locator('#sessions li').count(), 1, 'no other session')
  },
)

person(
  'a user sets up a second factor and a passkey, and logs in with both',
  { host: 'localhost' },
  async (t, { page, sees, press, ...person }) => {
    const cdp = await page.context().newCDPSession(page)
    await cdp.send('WebAuthn.enable')
    const { authenticatorId } = await cdp.send('WebAuthn.addVirtualAuthenticator', {
      options: {
        protocol: 'ctap2',
        transport: 'internal',
        hasResidentKey: true,
        hasUserVerification: true,
        isUserVerified: true,
      },
    })
    const present = (enabled: boolean) =>
      cdp.send('WebAuthn.setAutomaticPresenceSimulation', { authenticatorId, enabled })
    const isIn = () => sees('#notes strong', 'Shopping')
    await person.logIn(alice.name, alice.password)
    await isIn()

    await person.unfold('Second factor')
    await press('Set up an authenticator app')
    const secret = await page.locator('#factor-secret:not(:empty)').innerText()
    const picture = await page.evaluate<number[]>(`(() => {
      const context = document.createElement('canvas').getContext('2d')
      context.canvas.width = context.canvas.height = 400
      context.fillStyle = '#fff'
      context.fillRect(0, 0, 400, 400)
      context.drawImage(document.querySelector('#factor-qr'), 0, 0, 400, 400)
      return [...context.getImageData(0, 0, 400, 400).data]
    })()`)
    const read = decodeQR({ width: 400, height: 400, data: Uint8Array.from(picture) })
    t.equal(read, await page.locator('#factor-uri').getAttribute('href'))
    const code = () => totpCode(secret, { at: Date.now() })
    await page.locator('#factor-setup input').fill(code())
    await press('Switch it on')
    const codes = await page.locator('#factor-codes:not(:empty)').innerText()
    const state = page.locator('#factor-state', { hasText: '10 recovery codes' })
    await state.waitFor({ state: 'attached' })

    await person.logOut()
    await person.logIn(alice.name, alice.password)
    await person.fill('#code', '000000')
    await sees('#code .notice', 'code')
    const path = process.env.CODE_SCREENSHOT
    if (path !== undefined) {
      await page.screenshot({ path, clip: { x: 290, y: 310, width: 420, height: 280 } })
    }
    await person.fill('#code', String(codes.split('\n')[0]))
    await isIn()

    await person.unfold('Passkeys')
    await present(true)
    await press('Add a passkey')
    await sees('#passkeys li', 'not used yet')
    // No user chooses a passkey that is offered in the field.
    await present(false)
    await page.locator('#leave').click()
    await sees('#passkey')
    await present(true)
    await page.locator('#passkey').click()
    await isIn()
    await page.locator('#passkeys li', { hasText: 'used ' }).waitFor({ state: 'attached' })

    // The login is old, and the password is not enough.
    const wait = clock(t)
    const asked = async (): Promise<void> => {
      await sees('#code')
      const buttons = await page.locator('#code button:visible').allInnerTexts()
      t.strictSame(buttons, ['Confirm', 'Use a passkey', 'Cancel'])
    }
    wait(700_000)
    await press('Set up an authenticator app')
    await asked()
    await press('Use a passkey')
    await sees('#factor-secret:not(:empty)')
    wait(1_400_000)
    await press('Switch it off')
    await asked()
    await person.fill('#code', code())
    await sees('#factor-state', 'It is off.')
  },
)
