// Follows the tutorial, with a PostgreSQL in this process where its third part has a server.
import t, { type Test } from 'tap'
import { startPostgres } from '../../examples/support/embedded-postgres.js'
import { openPage } from '../helpers/browser.js'
import { findProgram, unlessFound } from '../helpers/programs.js'
import { follow } from '../helpers/tutorial.js'

t.test(
  'following docs/start/web-app.md gives an app that answers as the page says',
  { skip: unlessFound('curl') },
  async (t) => {
    const server = await startPostgres()
    t.teardown(() => server.close())
    const ports = { 5432: Number(new URL(server.connectionString).port) }
    const pages = ['docs/start/web-app.md', 'docs/start/web-app-page.md']
    const reader = await follow(t, pages, { ports })
    await t.test(
      'the page of the tutorial works in a browser',
      { skip: unlessFound('Chromium') },
      (t) => usePage(t, reader.origin),
    )
    await reader.follow(['docs/start/web-app-deploy.md'])
  },
)

async function usePage(t: Test, origin: string): Promise<void> {
  const { page } = await openPage(t, String(findProgram('Chromium')), 'en-US')
  const press = (name: string): Promise<void> => page.getByRole('button', { name }).first().click()
  const logIn = async (email: string, password: string): Promise<void> => {
    await page.getByLabel('E-mail').fill(email)
    await page.getByLabel('Password').fill(password)
    await press('Log in')
  }
  const write = async (text: string): Promise<void> => {
    await page.getByLabel('Message').fill(text)
    await press('Write')
    await page.getByText(text).waitFor()
  }
  await page.goto(origin)
  await logIn('bob@guestbook.example', 'wrong')
  await page.getByText('Invalid credentials').waitFor()
  await logIn('bob@guestbook.example', 'no room, no room')
  await write('I was here')
  t.equal(await page.getByRole('button', { name: 'Delete' }).count(), 0, 'bob is no admin')
  await press('Log out')
  await logIn('alice@guestbook.example', 'curiouser and curiouser')
  await write('Who <b>are</b> you?')
  // As if the access token had expired.
  await page.context().clearCookies({ name: 'token' })
  await press('Delete')
  await page.getByText('I was here').waitFor({ state: 'detached' })
}
