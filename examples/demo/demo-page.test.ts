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
import { demoUsers, newcomer } from './people.js'
import { authenticatorIn, openPage } from '../../test/helpers/browser.js'
import { findProgram, unlessFound } from '../../test/helpers/programs.js'
import { root } from '../../test/helpers/project.js'
import { freePort } from '../../test/helpers/redis-server.js'
import { environment, startDemo } from '../support/demo.js'

const [alice, bob] = demoUsers

t.test('the tables of the demo are what the command line prints', async (t) => {
  const args = ['dist/bin/fastify-authn.js', 'schema', '--prefix', 'demo']
  const printed = execFileSync(process.execPath, args, { cwd: root, encoding: 'utf8' })
  t.equal(readFileSync(join(root, 'examples/demo/schema.sql'), 'utf8'), printed)
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
    async sends(form: string, values: string[], news: string): Promise<void> {
      await fill(form, ...values)
      await sees('#news', news)
    },
    unfold: (hasText: string) => page.locator('summary', { hasText }).press('Enter'),
    isVisible: (what: string, hasText = '') => page.locator(what, { hasText }).isVisible(),
    async picture(name: string, clip: { x: number; y: number; width: number; height: number }) {
      const path = process.env[`${name}_SCREENSHOT`]
      if (path !== undefined) await page.screenshot({ path, clip })
    },
    logIn: (email: string, password: string) => fill('#login', email, password),
    async logOut(): Promise<void> {
      await page.locator('#leave').click()
      await sees('#login [name=email]:focus')
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

/** Starts the demo, and opens its page in a browser. */
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
  act: (
    t: Test,
    visitWith: (how?: Parameters<typeof visit>[1]) => ReturnType<typeof visit>,
  ) => Promise<void>,
): void {
  t.test(title, { skip: unlessFound('Chromium') }, async (t) => {
    const complaints: string[][] = []
    await act(t, async (how) => {
      const visited = await visit(t, how)
      complaints.push(visited.complaints)
      return visited
    })
    // The browser notes every 401 and every connection that fails; nothing else is wrong.
    const isOther = (text: string): boolean => !text.startsWith('Failed to load resource: ')
    t.strictSame(complaints.flat().filter(isOther), [])
  })
}

/** The code of the newest mail, which has the letters that are shown there. */
async function codeIn(page: Page, place: string): Promise<string> {
  const letters = String(/[A-Z]{2}/.exec(await page.locator(place).innerText()))
  const mail = page.locator('#mails li', { hasText: `Log in (${letters})` }).first()
  return String(/\d{6}/.exec(await mail.innerText()))
}

/** Moves the clock of the server on, until the test ends. */
function waits(t: Test, milliseconds: number): void {
  const { now } = Date
  t.teardown(() => void (Date.now = now))
  Date.now = () => now() + milliseconds
}

person('a user stays logged in, revokes other sessions, and logs out', async (t, visitWith) => {
  // Tokens that live for two seconds, so that the page is open for longer than that soon.
  const env = { DEMO_DATA_DIR: join(t.testdir(), 'data'), AUTH_JWT_EXPIRY: '2' }
  const { page, origin, app, started, sees, ...me } = await visitWith({ env })
  const sessions = '#sessions li'
  await sees('#login')
  await page.locator('#published li').nth(1).waitFor()
  t.strictSame(me.complaints, [], 'an anonymous visitor asks for nothing that needs a login')
  await me.logIn(alice.email, 'wrong')
  await sees('#problem', 'Invalid credentials.')
  await me.logIn(alice.email, alice.password)
  await sees('#notes strong', 'Shopping')
  await sees(sessions)
  t.equal(await page.locator(sessions).count(), 1)
  t.equal(await page.evaluate('document.cookie'), '')
  await me.write('Tea')

  // Another browser, which is logged out from here later.
  const other = await page.context().browser()?.newPage()
  if (other === undefined) throw new Error('no second browser')
  const second = actions(other)
  await other.goto(page.url())
  await second.logIn(alice.email, alice.password)
  await other.locator(sessions).nth(1).waitFor()
  // Beyond the life of the token: the user is not asked for a password.
  await page.waitForTimeout(2500)
  await me.write('<b>Milk</b>')
  t.equal(await me.isVisible('#login'), false)
  await page.reload()
  await page.locator(sessions).nth(1).waitFor()
  await page.setViewportSize({ width: 1000, height: 1090 })
  await me.picture('PAGE', { x: 0, y: 0, width: 1000, height: 1090 })
  await page.locator('#sessions button').click()
  await page.locator(sessions).nth(1).waitFor({ state: 'detached' })
  // It finds out when its user looks at it, as soon as its token has expired.
  await other.waitForTimeout(2500)
  await other.evaluate("document.dispatchEvent(new Event('visibilitychange'))")
  await second.sees('#problem', 'revoked elsewhere')

  // The server is started again, with another secret: the page goes on with the session in the database.
  await app.close()
  const again = await startDemo(t, { ...started, AUTH_JWT_SECRET: 'another-secret'.repeat(3) })
  await again.listen({ host: '127.0.0.1', port: Number(new URL(origin).port) })
  await me.write('Still here')
  t.equal(await me.isVisible('#login'), false)
  await page.locator('#leave-all').click()
  await sees('#login')
  await me.says('everywhere else')
  t.equal(await page.locator('#notes li').count(), 0)
  t.strictSame(await page.context().cookies(), [])
  const elsewhere = me.requests.filter((url) => !url.startsWith(origin))
  t.strictSame(elsewhere, [], 'it talks to no other server')
})

person('the page keeps what was typed through errors, and fits a phone', async (t, visitWith) => {
  const { page, origin, sees, ...me } = await visitWith()
  await page.getByRole('button', { name: 'Fill in bob@example.org' }).click()
  await page.locator('#login .primary:focus').press('Enter')
  const unpublish = page.locator('#published li button')
  await unpublish.first().click()
  await sees('#published-problem', 'editor')
  t.match(await page.locator('#published-problem code').innerText(), '403')

  // What was typed stays while the server cannot be reached.
  const [title, add] = [page.locator('#write [name=title]'), page.locator('#write .primary')]
  await title.fill('Tea')
  await page.context().setOffline(true)
  await sees('#status', 'offline')
  await add.click()
  await sees('#write-problem', 'cannot be reached')
  await page.context().setOffline(false)
  await add.click()
  await sees('#notes strong', 'Tea')
  t.equal(await title.inputValue(), '')
  await sees('#write [name=title]:focus')
  await me.press('Delete Tea')
  await page.locator('#notes strong', { hasText: 'Tea' }).waitFor({ state: 'detached' })
  await sees('#notes li:last-child button:focus')

  for (const path of ['/app/', '/pages/docs/reference/options.md']) {
    await page.goto(origin + path)
    await me.fits(t)
  }
  await page.goto(`${origin}/app/`)
  await me.logOut()
  await me.logIn(alice.email, alice.password)
  await unpublish.first().click()
  await unpublish.nth(1).waitFor({ state: 'detached' })
  await sees('#published li button:focus')
})

person('a user logs in with the provider, and connects an account there', async (t, visitWith) => {
  const { page, origin, sees, says, ...me } = await visitWith()
  await page.locator('#published li').nth(1).waitFor()
  await me.picture('LOGIN', { x: 0, y: 0, width: 1000, height: 773 })
  const isIn = async (name: string): Promise<void> => {
    await sees('#notes strong', 'Shopping')
    t.equal(await page.locator('#name').innerText(), name)
    t.equal(page.url(), `${origin}/app/`, 'the address is that of the page again')
  }
  for (const { name } of demoUsers) {
    await me.signInAs(name)
    await isIn(name)
    await page.reload()
    await isIn(name)
    await me.logOut()
  }
  await page.getByRole('link', { name: 'Sign in with the demo provider' }).click()
  await me.fits(t)
  await page.getByRole('button', { name: 'Cancel' }).click()
  await sees('#problem', 'cancelled')
  await me.logIn(alice.email, alice.password)
  await sees('#notes-title:focus')
  for (const [name, answer] of [
    ['bob', 'belongs to another user'],
    ['Cancel', 'Nothing was connected'],
    ['carol', 'is connected'],
  ] as const) {
    await me.unfold('Accounts at the demo provider')
    await page.getByRole('button', { name: 'Connect an account there' }).click()
    await page.getByRole('button', { name, exact: true }).click()
    await says(answer)
  }
  const [first, second] = await page.locator('#identities strong').allTextContents()
  t.strictSame([first, second], ['alice', 'carol'])
  await me.logOut()
  await me.signInAs('carol')
  await isIn('alice')

  // Without it, an account there with the same address does not log in.
  await me.unfold('Accounts at the demo provider')
  await page.getByRole('button', { name: 'Remove alice' }).press('Enter')
  await page.locator('#identities strong', { hasText: 'alice' }).waitFor({ state: 'detached' })
  await sees('#identities button:focus')
  await me.logOut()
  await me.signInAs('alice')
  await sees('#problem', 'There is an account with this address')
  t.strictSame(me.complaints, [])
  await page.goto(`${origin}/app/?provider=demo&error=Call+us`)
  await sees('#problem', 'has failed')
  t.notMatch(await page.content(), 'Call us', 'no word of the address is shown')
})

person('a person signs up, loses the password, and deletes the account', async (t, visitWith) => {
  const { page, origin, sees, says, sends, press, ...me } = await visitWith({ locale: 'fr-FR' })
  const [first, second, third] = [
    'the first passphrase',
    'the second passphrase',
    'the third one, too',
  ]
  await press('Create an account')
  await sends('#sign-up', ['carol@example.org'], 'on its way to carol@example.org')
  await me.openMail('Finish your sign-up')
  t.equal(page.url(), `${origin}/app/`, 'the token is not in the address')
  await sends('#finish', [first], 'your name is carol')
  await sees('#notes-title:focus')
  await me.unfold('Change the password')
  await sends('#change-password', [first, second], 'Your password is changed')
  await sees('#sessions li')

  // The link of the new address waits for a login.
  await me.unfold('Change the e-mail address')
  await sends('#change-email', ['Jones@example.org', second], 'Confirm Jones@example.org')
  await sees('#mails li', 'jones@example.org')
  const path = await me.linkIn('Confirm your new address')
  await me.logOut()
  await page.goto(origin + path)
  await says('Log in to confirm')
  await me.logIn('carol@example.org', second)
  await page.locator('#new-address .primary:focus').press('Enter')
  await says('jones@example.org now')
  t.equal(await page.locator('#name').innerText(), 'carol')

  await me.logOut()
  await press('Forgot your password?')
  await sends('#forgot', ['jones@example.org'], 'If jones@example.org has an account')
  await me.openMail('Choose a new password')
  await sends('#reset', [third], 'Log in with the new one')
  await me.logIn('jones@example.org', second)
  await sees('#problem', 'Identifiants incorrects.')
  await me.logIn('jones@example.org', third)
  await sees('#notes-title:focus')
  await me.unfold('Delete the account')
  await sends('#delete', [third], 'Your account is deleted')
  await sees('#login [name=email]:focus')
  t.strictSame(await page.context().cookies(), [])
})

person('a user logs in by the code of a mail, and by its link', async (t, visitWith) => {
  const { page, origin, sees, press, requests, ...me } = await visitWith()
  /** Asks for a mail. @returns its code */
  const ask = async (): Promise<string> => {
    await page.locator('#login [name=email]').fill(bob.email)
    await press('Send me a link')
    await sees('#mail-code [name=code]:focus')
    await sees('#mail-code .mailed', bob.email)
    return codeIn(page, '#sign')
  }
  const finishes = () => requests.filter((url) => url.endsWith('/login/mail/finish')).length

  const code = await ask()
  await me.fits(t)
  await me.fill('#mail-code', code === '000000' ? '000001' : '000000')
  await sees('#mail-code .notice', 'code')
  // As on a phone, the page is loaded again when its user has read the mail.
  await page.reload()
  await sees('#mail-code [name=code]:focus')
  await me.fill('#mail-code', code)
  await sees('#notes-title:focus')
  t.equal(await page.locator('#name').innerText(), bob.name)
  await me.logOut()

  await ask()
  const path = await me.linkIn('Log in')
  await me.openMail('Log in')
  t.equal(page.url(), `${origin}/app/`, 'the token is not in the address')
  await sees('#mail-link h2', `Log in as ${bob.email}?`)
  await me.fits(t)
  await page.waitForLoadState('networkidle')
  t.equal(finishes(), 2, 'the page sends nothing by itself')
  await page.locator('#mail-link .primary:focus').press('Enter')
  await sees('#notes-title:focus')
  t.equal(await page.locator('#name').innerText(), bob.name)
  t.equal(finishes(), 3)
  await me.logOut()

  // It works once.
  await page.goto(origin + path)
  await page.locator('#mail-link .primary:focus').press('Enter')
  await sees('#mail-link .notice:not(:empty)')
  await press('Not now')
  await sees('#login [name=email]:focus')
})

person('a mail confirms that it is the user, and a code follows it', async (t, visitWith) => {
  const { page, sees, press, ...me } = await visitWith()
  await me.logIn(bob.email, bob.password)
  await sees('#notes strong', 'Shopping')
  waits(t, 60_000)
  await me.unfold('stored about you')
  await page.locator('#export .primary').click()
  await press('Send me a code')
  await sees('#code-label', 'letters')
  await me.fill('#code', await codeIn(page, '#code-label'))
  await sees('#exported', 'Shopping')
  t.equal(await page.locator('#sessions li').count(), 1, 'no other session')

  await me.unfold('Second factor')
  await press('Set up an authenticator app')
  const secret = await page.locator('#factor-secret:not(:empty)').innerText()
  const code = () => totpCode(secret, { at: Date.now() })
  await page.locator('#factor-setup input').fill(code())
  await press('Switch it on')
  const codes = await page.locator('#factor-codes:not(:empty)').innerText()
  await me.logOut()
  await page.locator('#login [name=email]').fill(bob.email)
  await press('Send me a link')
  await codeIn(page, '#sign:not(:empty)')
  await me.openMail('Log in')
  await page.locator('#mail-link .primary:focus').press('Enter')
  await me.fill('#code', String(codes.split('\n')[0]))
  await sees('#notes strong', 'Shopping')
})

person('a user of the provider gets an address and a password', async (t, visitWith) => {
  const { page, origin, sees, says, sends, unfold, ...me } = await visitWith()
  const [email, first] = ['dora@example.org', 'a long passphrase']
  await me.signInAs(newcomer)
  await sees('#name', newcomer)
  t.equal(await me.isVisible('summary', 'Change the password'), false)
  await unfold('Change the e-mail address')
  await sends('#change-email', [email], `Confirm ${email}`)
  await me.openMail('Confirm your new address')
  await page.locator('#new-address .primary:focus').press('Enter')
  await says(`${email} now`)
  await unfold('Set a password')
  await page.locator('#first-password .primary').click()
  await says(`on its way to ${email}`)
  const path = await me.linkIn('Set a password')

  // The link waits for a login of its user.
  await me.logOut()
  await page.goto(origin + path)
  await says('Log in with the provider')
  await me.signInAs(newcomer)
  await sees('#name', newcomer)
  await page.goto(origin + path)
  await sends('#set', [first], 'Your password is set')
  await sees('summary', 'Change the password')
  t.equal(await me.isVisible('summary', 'Set a password'), false)
  await me.logOut()
  await me.logIn(email, first)
  await sees('#name', newcomer)
})

person('an admin gives a role to a user, and disables the user', async (t, visitWith) => {
  const { page, sees, press, ...me } = await visitWith()
  await me.logIn(alice.email, alice.password)
  const row = page.locator('#users li', { hasText: bob.email })
  await press('Make editor: bob')
  await row.locator('.badge', { hasText: 'editor' }).waitFor()
  await sees('#users button:focus')
  await press('Disable: bob')
  await row.locator('.badge', { hasText: 'disabled' }).waitFor()
  t.equal(await page.locator('#users .actions').count(), 1, 'none for the own account')
  await me.fits(t)
  await me.logOut()
  t.equal(await page.locator('#users li').count(), 0)

  await me.logIn(bob.email, bob.password)
  await sees('#problem', 'suspended')
  await me.signInAs(bob.name)
  await sees('#problem', 'suspended')
  await me.logIn(alice.email, alice.password)
  await press('Enable: bob')
  await row.locator('.badge', { hasText: 'disabled' }).waitFor({ state: 'detached' })
  await me.logOut()
  await me.logIn(bob.email, bob.password)
  await sees('#role', 'author, editor')
  t.equal(await me.isVisible('#users-title'), false)
})

person('a user makes, rotates and revokes an API key', async (t, visitWith) => {
  const { page, origin, app, sees, ...me } = await visitWith()
  await page.context().grantPermissions(['clipboard-read', 'clipboard-write'], { origin })
  await me.logIn(alice.email, alice.password)
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
  t.equal(await me.isVisible('#fresh'), false)
})

person('a user without a second factor confirms by the password', async (t, visitWith) => {
  const { page, sees, ...me } = await visitWith()
  await me.logIn(alice.email, alice.password)
  await sees('#notes strong', 'Shopping')
  waits(t, 60_000)
  await me.unfold('stored about you')
  await page.locator('#export .primary').click()
  await me.fill('#code', 'wrong')
  await sees('#code .notice:not(:empty)')
  t.equal(await page.locator('#exported').innerText(), '')
  await me.fill('#code', alice.password)
  await sees('#exported', 'Shopping')
  t.equal(await page.locator('#sessions li').count(), 1, 'no other session')
})

person('a user logs in with a second factor, and with a passkey', async (t, visitWith) => {
  const { page, sees, press, ...me } = await visitWith({ host: 'localhost' })
  const { present } = await authenticatorIn(page)
  const isIn = () => sees('#notes strong', 'Shopping')
  await me.logIn(alice.email, alice.password)
  await isIn()

  await me.unfold('Second factor')
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

  await me.logOut()
  await me.logIn(alice.email, alice.password)
  await me.fill('#code', '000000')
  await sees('#code .notice', 'code')
  await me.picture('CODE', { x: 290, y: 310, width: 420, height: 280 })
  await me.fill('#code', String(codes.split('\n')[0]))
  await isIn()

  await me.unfold('Passkeys')
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
  waits(t, 700_000)
  await press('Switch it off')
  await sees('#code')
  const buttons = await page.locator('#code button:visible').allInnerTexts()
  t.strictSame(buttons, ['Confirm', 'Use a passkey', 'Cancel'])
  await me.fill('#code', code())
  await sees('#factor-state', 'It is off.')
})
