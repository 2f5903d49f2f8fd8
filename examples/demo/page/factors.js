// Codes and passkeys: the second step of a login, the dialog that asks for a code, and both parts of "Your account".
import { button, element, find } from './elements.js'
import encodeQR from './qr.js'
import { createPasskeys } from './fastify-authn-browser-passkeys.js'

/**
 * @typedef {import('fastify-authn/browser').Session} Session
 * @typedef {import('fastify-authn/browser').SessionResult} SessionResult
 * @typedef {import('fastify-authn/browser/passkeys').PasskeyList} PasskeyList
 */

const dialog = find('#code', HTMLDialogElement)
const field = find('#code input', HTMLInputElement)

/**
 * Asks the user to confirm that it is them, until the server accepts it.
 *
 * @param {readonly string[]} methods
 * @param {(method: string, value: string) => Promise<SessionResult>} send
 * @returns {Promise<SessionResult | null>} null if the user cancels
 */
async function ask(methods, send) {
  const problem = find('#code .notice', HTMLElement)
  const other = find('#code-other', HTMLButtonElement)
  const typed = methods.filter((method) => method === 'code' || method === 'password')
  // The code first: it proves more.
  let [kind = '', second = ''] = typed.sort()
  find('#code-field', HTMLElement).hidden = kind === ''
  find('#code-confirm', HTMLElement).hidden = kind === ''
  field.disabled = kind === ''
  other.hidden = second === ''
  for (const method of ['passkey', 'provider']) {
    const isOffered = methods.some((each) => each.startsWith(method))
    find(`#code-${method}`, HTMLButtonElement).hidden = !isOffered
  }
  problem.textContent = ''
  for (;;) {
    const isCode = kind === 'code'
    find('#code-label', HTMLElement).textContent = isCode ? 'Code, or a recovery code' : 'Password'
    other.textContent = isCode ? 'Use the password' : 'Use a code'
    field.type = isCode ? 'text' : 'password'
    field.autocomplete = isCode ? 'one-time-code' : 'current-password'
    field.value = ''
    dialog.returnValue = ''
    dialog.showModal()
    await new Promise((resolve) => dialog.addEventListener('close', resolve, { once: true }))
    const chosen = dialog.returnValue
    if (chosen === '' || chosen === 'no') return null
    if (chosen === 'other') {
      ;[kind, second] = [second, kind]
      problem.textContent = ''
      continue
    }
    const result = await send(chosen === 'yes' ? kind : chosen, field.value)
    // A 401 says that the login has expired, or that the session has ended.
    if (result.ok || result.status === 401) return result
    problem.textContent = result.error
  }
}

/**
 * @param {Session} session
 * @param {(text: string) => void} say
 */
export function createFactors(session, say) {
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

  /** Nothing of a setup stays. */
  function clear() {
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
      await ask(offered, async (method, value) => {
        if (method === 'passkey') return passkeys.confirm()
        if (method === 'code') return session.confirm({ code: value })
        if (method === 'password') return session.confirm({ password: value })
        // The page is left. Whoever comes back does it again.
        location.href = `${session.url}/demo?max_age=0`
        return new Promise(() => undefined)
      })
    },
  }
}
