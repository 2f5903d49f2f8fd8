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
  const logIn = async (name: string, password: string): Promise<void> => {
    await page.getByLabel('E-mail').fill(`${name}@example.com`)
    await page.getByLabel('Password').fill(password)
    await press('Log in')
  }
  await page.goto(origin)
  await logIn('alice', 'wrong')
  await page.getByText('Invalid credentials').waitFor()
  await logIn('alice', 'curiouser and curiouser')
  const text = 'Who <b>are</b> you?'
  await page.getByLabel('Message').fill(text)
  await press('Write')
  await page.getByText(text).waitFor()
  // As if the access token had expired.
  await page.context().clearCookies({ name: 'token' })
  await press('Delete')
  await page.getByText('I was here').waitFor({ state: 'detached' })
  await press('Log out')
  await logIn('bob', 'no room, no room')
  await page.getByText(text).waitFor()
  t.equal(await page.getByRole('button', { name: 'Delete' }).count(), 0, 'bob is no editor')
}
