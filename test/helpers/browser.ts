import { chromium, type Browser, type Page } from 'playwright-core'
import type { Test } from 'tap'

/**
 * Opens an empty page in a browser with a profile of its own, which ends with the test.
 *
 * @param hosts - names that stand for 127.0.0.1 in this browser, whatever certificate they show
 * @param port - where they listen, if not where their URLs say
 */
export async function openPage(
  t: Test,
  executablePath: string,
  locale: string,
  hosts: readonly string[] = [],
  port?: number,
) {
  const place = port === undefined ? '127.0.0.1' : `127.0.0.1:${port}`
  const browser: Browser = await chromium.launch({
    executablePath,
    headless: true,
    timeout: 120_000,
    args: [
      '--disable-gpu',
      '--disable-quic',
      '--disable-sync',
      '--disable-background-networking',
      '--disable-component-update',
      '--no-first-run',
      '--no-proxy-server',
      `--host-resolver-rules=${hosts.map((host) => `MAP ${host} ${place}`).join()}`,
    ],
  })
  t.teardown(() => browser.close())
  const viewport = { width: 1000, height: 900 }
  const ignoreHTTPSErrors = hosts.length > 0
  const context = await browser.newContext({ locale, viewport, ignoreHTTPSErrors })
  context.setDefaultTimeout(30_000)
  /** URLs of all requests, but for data that stands in the page itself. */
  const requests: string[] = []
  /** Errors and warnings of the console, and uncaught errors. */
  const complaints: string[] = []
  context.on('request', (request) => {
    if (!/^(?:data|blob):/.test(request.url())) requests.push(request.url())
  })
  const page = await context.newPage()
  page.on('pageerror', (error) => complaints.push(String(error)))
  page.on('console', (message) => {
    if (['error', 'warning'].includes(message.type())) complaints.push(message.text())
  })
  return { page, requests, complaints }
}

export type Authenticator = Awaited<ReturnType<typeof authenticatorIn>>

/** An authenticator in a tab, which verifies its user and does what it is asked for at once. */
export async function authenticatorIn(page: Page) {
  const cdp = await page.context().newCDPSession(page)
  await cdp.send('WebAuthn.enable')
  const { authenticatorId } = await cdp.send('WebAuthn.addVirtualAuthenticator', {
    options: {
      protocol: 'ctap2',
      transport: 'internal',
      hasResidentKey: true,
      hasUserVerification: true,
      isUserVerified: true,
      automaticPresenceSimulation: true,
    },
  })
  return {
    cdp,
    authenticatorId,
    /** Whether its user does what a page asks for. */
    async present(enabled: boolean) {
      await cdp.send('WebAuthn.setAutomaticPresenceSimulation', { authenticatorId, enabled })
    },
    credentials: async (): Promise<{ credentialId: string }[]> =>
      (await cdp.send('WebAuthn.getCredentials', { authenticatorId })).credentials,
  }
}

/** Presses Cancel where the browser itself asks for name and password, as it does at a challenge of Basic. */
export async function cancelPrompts(page: Page, urlPattern: string): Promise<void> {
  const session = await page.context().newCDPSession(page)
  session.on('Fetch.requestPaused', ({ requestId }) => {
    session.send('Fetch.continueRequest', { requestId }).catch(() => undefined)
  })
  session.on('Fetch.authRequired', ({ requestId }) => {
    const authChallengeResponse = { response: 'CancelAuth' } as const
    session
      .send('Fetch.continueWithAuth', { requestId, authChallengeResponse })
      .catch(() => undefined)
  })
  await session.send('Fetch.enable', { handleAuthRequests: true, patterns: [{ urlPattern }] })
}
