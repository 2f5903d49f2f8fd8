// Codes and passkeys: the second step of a login, the dialog that asks for a code, and both parts of "Your account".
import { button, element, find } from './elements.js'
import encodeQR from './qr.js'
import { createPasskeys } from './fastify-authn-browser-passkeys.js'

/**
 * @typedef {import('fastify-authn/browser').Session} Session
 * @typedef {import('fastify-authn/browser').SessionResult} SessionResult
 * @typedef {import('fastify-authn/browser').AskedMail} AskedMail
 * @typedef {import('fastify-authn/browser/passkeys').PasskeyList} PasskeyList
 */

const dialog = find('#code', HTMLDialogElement)
const field = find('#code input', HTMLInputElement)
/** What can be typed, and what the button says that leads there. */
const labels = new Map([
  ['code', 'Code, or a recovery code'],
  ['password', 'Password'],
])
const switches = new Map([
  ['code', 'Use a code'],
  ['password', 'Use the password'],
  ['mail', 'Use the mail'],
])

/**
 * Asks the user to confirm that it is them, until the server accepts it.
 *
 * @param {readonly string[]} methods
 * @param {(method: string, value: string, asked: AskedMail | null) => Promise<SessionResult>} send
 * @param {() => Promise<SessionResult>} [askMail] asks for a mail with a code
 * @returns {Promise<SessionResult | null>} null if the user cancels
 */
async function ask(methods, send, askMail) {
  const problem = find('#code .notice', HTMLElement)
  const other = find('#code-other', HTMLButtonElement)
  const typed = methods.filter((method) => method === 'code' || method === 'password')
  // The code first: it proves more.
  let [kind = '', second = ''] = typed.sort()
  /** @type {AskedMail | null} */
  let asked = null
  for (const method of ['passkey', 'mail', 'provider']) {
    const isOffered = methods.some((each) => each.startsWith(method))
    find(`#code-${method}`, HTMLButtonElement).hidden = !isOffered
  }
  problem.textContent = ''
  for (;;) {
    const isPassword = kind === 'password'
    find('#code-field', HTMLElement).hidden = kind === ''
    find('#code-confirm', HTMLElement).hidden = kind === ''
    field.disabled = kind === ''
    find('#code-label', HTMLElement).textContent =
      kind === 'mail'
        ? `Code of the mail with the letters ${asked?.sign}`
        : (labels.get(kind) ?? '')
    other.hidden = second === ''
    other.textContent = switches.get(second) ?? ''
    field.type = isPassword ? 'password' : 'text'
    field.autocomplete = isPassword ? 'current-password' : 'one-time-code'
    field.value = ''
    dialog.returnValue = ''
    // The mailbox of the demo is on this page, and has to be within reach.
    if (kind === 'mail') dialog.show()
    else dialog.showModal()
    await new Promise((resolve) => dialog.addEventListener('close', resolve, { once: true }))
    const chosen = dialog.returnValue
    if (chosen === '' || chosen === 'no') return null
    if (chosen === 'other') {
      ;[kind, second] = [second, kind]
      problem.textContent = ''
      continue
    }
    if (chosen === 'mail' && askMail !== undefined) {
      const { ok, error, body } = await askMail()
      problem.textContent = error
      if (ok) {
        asked = /** @type {AskedMail} */ (body)
        if (kind !== 'mail') [kind, second] = ['mail', kind]
      }
      continue
    }
    const result = await send(chosen === 'yes' ? kind : chosen, field.value, asked)
    // A 401 says that the login has expired, or that the session has ended.
    if (result.ok || result.status === 401) return result
    problem.textContent = result.error
  }
}

/**
 * @param {Session} session
 * @param {(text: string) => void} say
 * @param {() => Promise<SessionResult>} askMail asks for a mail with a code, for the user
 */
export function createFactors(session, say, askMail) {
  const passkeys = createPasskeys(session)
  const enter = find('#passkey', HTMLButtonElement)
  const list = find('#passkeys', HTMLUListElement)
  const setup = find('#factor-setup', HTMLFormElement)
  const shown = find('#factor-secret', HTMLElement)
  const picture = find('#factor-qr', HTMLImageElement)
  // Passkeys belong to a domain, and an IP address is none.
  const isHere = passkeys.isSupported && location.hostname === 'localhost'
  /** Of the setup that is under way. */
  let token = ''

  enter.hidden = !isHere
  for (const place of document.querySelectorAll('[data-passkeys]')) {
    if (place instanceof HTMLElement) place.hidden = (place.dataset.passkeys === 'here') !== isHere
  }
  const elsewhere = find('#localhost', HTMLAnchorElement)
  elsewhere.href = `http://localhost:${location.port}/app/`

  /** @param {string | null} error */
  const tell = (error) => {
    find('#problem', HTMLElement).textContent = error
  }
  enter.addEventListener('click', async () => tell((await passkeys.logIn()).error))

  /** Shows what is on, and the passkeys. */
  async function load() {
    const factor = await session.get('second-factor')
    if (factor.ok) {
      const { enabled, recoveryCodes } =
        /** @type {{ enabled: boolean, recoveryCodes: number }} */ (factor.body)
      find('#factor-state', HTMLElement).textContent = enabled
        ? `It is on. You have ${recoveryCodes} recovery codes left.`
        : 'It is off.'
      find('#factor-off', HTMLButtonElement).hidden = !enabled
    }
    const known = await passkeys.list()
    if (!known.ok) return
    const rows = /** @type {PasskeyList} */ (known.body).passkeys.map(({ id, name, lastUsed }) => {
      const title = name || 'A passkey'
      const used =
        lastUsed === null ? 'not used yet' : `used ${new Date(lastUsed).toLocaleString()}`
      const remove = button('Remove', () => change(passkeys.remove(id)), `Remove ${title}`)
      return element('li', [element('strong', [title]), ` ${used} `, remove])
    })
    list.replaceChildren(...rows)
  }

  /** @param {Promise<SessionResult>} changing */
  async function change(changing) {
    const { ok, error } = await changing
    find('#passkeys-problem', HTMLElement).textContent = error
    if (ok) await load()
  }
  find('#add-passkey', HTMLButtonElement).addEventListener('click', () =>
    change(passkeys.add('Demo')),
  )

  find('#factor-begin', HTMLButtonElement).addEventListener('click', async () => {
    const { ok, error, body } = await session.post('second-factor/setup', {})
    find('#factor-problem', HTMLElement).textContent = error
    if (!ok) return
    const begun = /** @type {{ token: string, secret: string, uri: string }} */ (body)
    token = begun.token
    shown.textContent = begun.secret
    find('#factor-uri', HTMLAnchorElement).href = begun.uri
    picture.src = `data:image/svg+xml,${encodeURIComponent(encodeQR(begun.uri, 'svg'))}`
    setup.hidden = false
    find('#factor-setup input', HTMLInputElement).focus()
  })
  setup.addEventListener('submit', async (event) => {
    event.preventDefault()
    const code = find('#factor-setup input', HTMLInputElement).value
    const { ok, error, body } = await session.post('second-factor/enable', { token, code })
    find('#factor-problem', HTMLElement).textContent = error
    if (!ok) return
    clear()
    const { recoveryCodes } = /** @type {{ recoveryCodes: string[] }} */ (body)
    find('#factor-codes', HTMLElement).textContent = recoveryCodes.join('\n')
    say('Your second factor is on. Keep the recovery codes: they are not shown again.')
    await load()
  })
  find('#factor-off', HTMLButtonElement).addEventListener('click', async () => {
    const { ok, error } = await session.post('second-factor/disable', {})
    find('#factor-problem', HTMLElement).textContent = error
    clear()
    if (ok) await load()
  })

  /** Nothing of a setup stays, nor a dialog that is not modal. */
  function clear() {
    dialog.close()
    token = ''
    setup.reset()
    setup.hidden = true
    shown.textContent = ''
    picture.removeAttribute('src')
    find('#factor-codes', HTMLElement).textContent = ''
  }

  return {
    load,
    clear,
    /** Offers passkeys in the list of the field for the name. */
    async offer() {
      if (isHere) tell((await passkeys.autofill()).error)
    },
    /**
     * The second step of a login.
     *
     * @param {string} begun the token of the first one
     */
    async finish(begun) {
      const result = await ask(['code'], (_, code) =>
        session.post('login/second-factor', { token: begun, code }),
      )
      if (result !== null) tell(result.error)
    },
    /**
     * The option `onStepUp`. What the page has asked for is repeated by the session.
     *
     * @param {import('fastify-authn/browser').StepUp} needs
     */
    async confirm({ methods }) {
      const here = methods.filter((method) => method !== 'passkey' || isHere)
      const ours = here.filter((method) => !method.startsWith('provider:'))
      // The server cannot know who has an account at a provider.
      const offered = ours.length > 0 ? ours : here
      if (offered.length === 0) return say('Please log out, and log in again.')
      /** @param {string} method @param {string} value @param {AskedMail | null} asked */
      const send = async (method, value, asked) => {
        if (method === 'passkey') return passkeys.confirm()
        if (method === 'code') return session.confirm({ code: value })
        if (method === 'mail') return session.confirm({ token: asked?.token ?? '', code: value })
        if (method === 'password') return session.confirm({ password: value })
        // The page is left. Whoever comes back does it again.
        location.href = `${session.url}/demo?max_age=0`
        return new Promise(() => undefined)
      }
      await ask(offered, send, askMail)
    },
  }
}
