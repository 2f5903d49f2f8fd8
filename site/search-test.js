// What people type into the search of the site, and the pages that have to be among the first three results.
const wanted = {
  'client credentials': 'guides/issuers',
  'service to service': 'guides/issuers',
  'link accounts': 'guides/login-with',
  'web and mobile': 'guides/cookies',
  jwt: 'guides/tokens-and-keys',
  'delete account': 'guides/accounts',
  'api key': 'guides/api-keys',
  roles: ['guides/access', 'guides/users'],
  admin: 'guides/users',
  'ban user': 'guides/users',
  'block user': 'guides/users',
  'list users': 'guides/users',
  'login as customer': 'guides/impersonation',
  'file upload': 'guides/other-plugins',
  'qr code': 'guides/second-factor',
  'change password': 'guides/accounts',
  'change secret': 'guides/deployment',
  'test a protected route': 'guides/testing',
  'session list': 'guides/log-out',
  tenant: 'guides/tenants',
  'multi-tenant': 'guides/tenants',
  'Next.js': 'guides/where-it-runs',
  Bun: 'guides/where-it-runs',
  React: 'guides/with-react-and-vue',
  Vue: 'guides/with-react-and-vue',
  'fastify-cli': 'guides/with-fastify-cli',
  '2FA': 'guides/second-factor',
  MFA: 'guides/second-factor',
  TOTP: 'guides/second-factor',
  passkeys: 'guides/passkeys',
  WebAuthn: 'guides/passkeys',
  'step-up': 'guides/step-up',
  'sudo mode': 'guides/step-up',
  'audit log': 'guides/audit-log',
  GDPR: 'guides/audit-log',
  'remember me': 'guides/sessions',
  'refresh token': 'guides/sessions',
  logout: 'guides/log-out',
  csrf: 'guides/csrf',
  google: 'guides/login-with',
  Apple: 'guides/providers',
  Firebase: 'guides/migrating-hashes',
  nodemailer: 'guides/accounts',
  vitest: 'guides/testing',
  'zero downtime': 'guides/deployment',
  'express session': 'guides/coming-from-express-passport',
}

/** How long the first result of a page that was just opened may take, in milliseconds. */
const patience = 1000
/** The same on a slow line, which brings 1.6 Mbit/s, of a server that does not compress. */
const slowPatience = 2000
const slowLine = {
  offline: false,
  latency: 100,
  downloadThroughput: 200_000,
  uploadThroughput: 94_000,
}
const fastLine = { offline: false, latency: 0, downloadThroughput: -1, uploadThroughput: -1 }
const input = '#localsearch-input'
const result = '.results a.result'

/** Opens a page and its search, and types a word. @returns the milliseconds until there is a result */
async function firstResult(page, origin) {
  await page.goto(`${origin}/guides/cookies.html`, { waitUntil: 'load' })
  await page.evaluate(() => sessionStorage.clear())
  const button = page.locator('.DocSearch-Button')
  await button.waitFor()
  const begin = Date.now()
  await button.click()
  await page.fill(input, 'csrf')
  await page.waitForSelector(result)
  return Date.now() - begin
}

/** On a slow line: the milliseconds until there is a result, and what is said before. */
async function onSlowLine(page, origin) {
  const devtools = await page.context().newCDPSession(page)
  await devtools.send('Network.enable')
  await devtools.send('Network.clearBrowserCache')
  await devtools.send('Network.emulateNetworkConditions', slowLine)
  await page.goto(`${origin}/guides/cookies.html`, { waitUntil: 'load' })
  await page.evaluate(() => sessionStorage.clear())
  const begin = Date.now()
  await page.click('.DocSearch-Button')
  const said = await page.textContent('.search-status')
  await page.fill(input, 'csrf')
  await page.waitForSelector(result)
  const time = Date.now() - begin
  await devtools.send('Network.emulateNetworkConditions', fastLine)
  await devtools.detach()
  return { time, said }
}

async function pagesFor(page, word) {
  await page.fill(input, '')
  await page.waitForFunction((all) => document.querySelector(all) === null, result)
  await page.fill(input, word)
  await page.waitForSelector(`${result}, .no-results`)
  const links = await page.$$eval(result, (all) => all.map(({ pathname }) => pathname))
  return links.slice(0, 3).map((link) => link.replace(/^\/|\.html$/g, ''))
}

/** What the search does not find, or finds too late. */
export async function searchProblems(page, origin) {
  const times = []
  // The machine may be busy: the best of three counts.
  for (let at = 0; at < 3; at++) times.push(await firstResult(page, origin))
  console.log(`search: the first result after ${times.join(', ')} ms`)
  const problems = []
  if (Math.min(...times) > patience) problems.push(`the first result took ${Math.min(...times)} ms`)
  const slow = []
  for (let at = 0; at < 3; at++) slow.push(await onSlowLine(page, origin))
  const slowest = Math.min(...slow.map(({ time }) => time))
  console.log(`… on a slow line after ${slow.map(({ time }) => time).join(', ')} ms`)
  if (slowest > slowPatience) problems.push(`on a slow line, the first result took ${slowest} ms`)
  if (slow.some(({ said }) => said === '')) problems.push('nothing is said while the search loads')
  for (const [word, guides] of Object.entries(wanted)) {
    const found = await pagesFor(page, word)
    for (const guide of [guides].flat()) {
      if (!found.includes(guide))
        problems.push(`${word}: ${found.join(', ') || 'nothing'}, not ${guide}`)
    }
  }
  return problems
}
