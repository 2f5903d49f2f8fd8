// Sign-up, forgotten passwords and the panel "Your account": forms for the routes of the option `accounts`.
import { button, find, replaceRows, row } from './elements.js'

/**
 * @typedef {import('fastify-authn/browser').Session} Session
 * @typedef {import('fastify-authn/browser').SessionResult} SessionResult
 * @typedef {import('fastify-authn/browser').AskedMail} AskedMail
 * @typedef {{ id: string, name: string | null, email: string | null, roles: string[], hasPassword: boolean }} User
 * @typedef {{ issuer: string, subject: string, created: string }} Identity
 * @typedef {{ email: string, token: string, sign: string, until: number }} Asked a mail to log in
 */

/** The pages of the links in mails, and what is shown there. */
const linkViews = new Map([
  ['/app/sign-up', 'finish'],
  ['/app/reset', 'reset'],
  ['/app/email', 'email'],
  ['/app/set', 'set'],
  ['/app/login', 'mail-link'],
])
/** What the login says, where the form of a link needs a session of its user. */
const waiting = new Map([
  ['email', 'Log in to confirm your new address.'],
  ['set', 'Log in with the provider to set a password.'],
])
/** What only an anonymous visitor sees. */
const entrances = new Set(['login', 'mail-code', 'sign-up', 'forgot'])
/** Where the mail to log in is kept that was asked for: a phone may unload the page while the mail is read. */
const askedKey = 'mail-login'

const news = find('#news', HTMLElement)

/**
 * @param {Session} session
 * @param {{ load(): Promise<void>, show(): void }} mailbox
 * @param {() => Promise<void>} reload shows the user again, after a change
 * @param {(token: string) => Promise<void>} secondStep asks for the second factor, with the token of the first step
 */
export function createAccounts(session, mailbox, reload, secondStep) {
  /** @type {User | null} */
  let user = null
  let view = ''
  /** Of the link that was opened. It stays in memory alone, until it is used. */
  let token = ''

  const opened = linkViews.get(location.pathname)
  if (opened !== undefined) {
    if (location.hash !== '') {
      token = location.hash.slice(1)
      view = opened
    }
    // The token is in no history, and a reload leads to the page.
    history.replaceState(null, '', '/app/')
  }
  let asked = readAsked()
  if (view === '' && asked !== null) view = 'mail-code'
  showMailed(view === 'mail-link' ? addressIn(token) : asked?.email)

  /** Shows one of the forms, or none: what fits the user. */
  function draw() {
    if (user !== null && entrances.has(view)) view = ''
    if (user === null && view === '') view = 'login'
    const shown = user === null && waiting.has(view) ? 'login' : view
    for (const form of document.querySelectorAll('[data-view]')) {
      if (!(form instanceof HTMLFormElement)) continue
      form.hidden = form.dataset.view !== shown
      form.classList.toggle('wide', user !== null)
      if (form.hidden) clear(form)
    }
    const isAsked = ['finish', 'reset', 'mail-link'].includes(shown)
    find('#welcome', HTMLElement).hidden = user !== null || isAsked
  }

  /** @param {string} next */
  function open(next) {
    say('')
    token = ''
    if (next !== 'mail-code') keepAsked(null)
    view = next
    draw()
    focus()
  }

  /** @returns {boolean} whether there is a form that waits to be filled in */
  function focus() {
    const field = document.querySelector(
      '[data-view]:not([hidden]) :is(input, button.primary):not([hidden])',
    )
    if (!(field instanceof HTMLElement)) return false
    field.focus()
    return true
  }

  /**
   * Sends a form, and says what has come of it.
   *
   * @param {string} selector
   * @param {(values: { email: string, new: string, current: string, code: string }) => Promise<SessionResult>} send
   * @param {(values: { email: string }, body: unknown) => unknown} done
   */
  function handle(selector, send, done) {
    const form = find(selector, HTMLFormElement)
    const problem = find(`${selector} .notice`, HTMLElement)
    let isSending = false
    form.addEventListener('submit', async (event) => {
      event.preventDefault()
      if (isSending) return
      isSending = true
      problem.textContent = ''
      const data = new FormData(form)
      const text = (/** @type {string} */ name) => {
        const value = data.get(name)
        return typeof value === 'string' ? value : ''
      }
      const values = {
        email: text('email'),
        new: text('new'),
        current: text('current'),
        code: text('code'),
      }
      const { ok, error, body } = await send(values)
      isSending = false
      problem.textContent = error
      if (ok) {
        clear(form)
        const details = form.closest('details')
        if (details !== null) {
          details.open = false
          details.querySelector('summary')?.focus()
        }
        await done(values, body)
      } else {
        const field = form.querySelector('input:not([hidden])')
        if (field instanceof HTMLElement) field.focus()
      }
      await mailbox.load()
    })
  }

  const look = () => button('See the mailbox', mailbox.show)

  const byMail = find('#by-mail', HTMLButtonElement)
  byMail.addEventListener('click', async () => {
    const field = find('#login [name=email]', HTMLInputElement)
    if (!field.reportValidity()) return
    byMail.disabled = true
    const { ok, error, body } = await session.mailLogin(field.value)
    byMail.disabled = false
    find('#problem', HTMLElement).textContent = error
    if (ok) {
      const { token, sign, expiresIn } = /** @type {AskedMail} */ (body)
      keepAsked({ email: field.value, token, sign, until: Date.now() + expiresIn * 1000 })
      open('mail-code')
    }
    await mailbox.load()
  })
  find('#mail-look', HTMLButtonElement).addEventListener('click', mailbox.show)
  handle(
    '#mail-code',
    ({ code }) => session.finishMailLogin({ token: asked?.token ?? '', code }),
    (_, body) => entered(body),
  )
  // Nothing but the button sends it. Mail scanners open links, and a stranger may have sent one of their own account.
  handle(
    '#mail-link',
    () => session.finishMailLogin({ token }),
    (_, body) => entered(body),
  )
  handle(
    '#sign-up',
    ({ email }) => session.post('sign-up', { email }),
    ({ email }) => say(`A mail with a link is on its way to ${email}.`, look()),
  )
  handle(
    '#forgot',
    ({ email }) => session.post('password/forgot', { email }),
    ({ email }) =>
      say(`If ${email} has an account here, a mail with a link is on its way.`, look()),
  )
  handle(
    '#finish',
    (values) => session.post('sign-up/finish', { token, password: values.new }),
    async () => {
      await close()
      say(`Your account is created. You are logged in, and your name is ${user?.name}.`)
    },
  )
  handle(
    '#reset',
    (values) => session.post('password/reset', { token, password: values.new }),
    async () => {
      // Whoever was logged in here may have been that user, whose sessions are revoked.
      if (session.loggedIn) await session.refresh().catch(() => false)
      await close()
      find('#problem', HTMLElement).textContent = ''
      say('Your password is changed. Log in with the new one.')
      if (user === null) focus()
    },
  )
  handle(
    '#new-address',
    () => session.post('email/confirm', { token }),
    async () => {
      await close()
      say(`Your address is ${user?.email} now.`)
      find('#notes-title', HTMLElement).focus()
    },
  )
  handle(
    '#set',
    (values) => session.post('password/change', { token, password: values.new }),
    async () => {
      await close()
      say('Your password is set. You can log in with it from now on.')
    },
  )
  handle(
    '#first-password',
    () => session.post('password/set', {}),
    () => say(`A mail with a link is on its way to ${user?.email}.`, look()),
  )
  handle(
    '#change-password',
    (values) =>
      session.post('password/change', { currentPassword: values.current, password: values.new }),
    async () => {
      await reload()
      say('Your password is changed. Your other sessions are logged out.')
    },
  )
  handle(
    '#change-email',
    ({ email, current }) => session.post('email/change', { email, currentPassword: current }),
    ({ email }) =>
      say(`Confirm ${email} by the link in the mail. Until then your address stays.`, look()),
  )
  handle(
    '#connect',
    async () => {
      const result = await session.link('demo', { returnTo: '/app/?connected=demo' })
      // The provider leads the browser back.
      if (result.ok) location.href = /** @type {{ location: string }} */ (result.body).location
      return result
    },
    () => undefined,
  )
  handle(
    '#delete',
    ({ current }) => session.post('account/delete', { currentPassword: current }),
    () => say('Your account is deleted.'),
  )

  /** Shows the accounts at the provider, each with a button to remove it. */
  async function loadIdentities() {
    const { ok, body } = await session.get('identities')
    if (!ok) return
    const rows = /** @type {Identity[]} */ (body).map(({ issuer, subject, created }) => {
      const remove = button('Remove', () => removeIdentity(issuer, subject), `Remove ${subject}`)
      return row(subject, `since ${new Date(created).toLocaleString()}`, [], [remove])
    })
    const list = find('#identities', HTMLUListElement)
    replaceRows(list, rows, find('#identities-title', HTMLElement), 'You have connected none yet.')
  }

  /**
   * @param {string} issuer
   * @param {string} subject
   */
  async function removeIdentity(issuer, subject) {
    const { ok, error } = await session.post('identities/remove', { issuer, subject })
    find('#connect .notice', HTMLElement).textContent = error
    if (ok) await loadIdentities()
  }

  /** @param {Asked | null} next */
  function keepAsked(next) {
    asked = next
    if (next === null) sessionStorage.removeItem(askedKey)
    else sessionStorage.setItem(askedKey, JSON.stringify(next))
    if (next !== null) showMailed(next.email)
  }

  /** @param {string} [email] whose mail it is */
  function showMailed(email = '') {
    for (const place of document.querySelectorAll('.mailed')) place.textContent = email
    find('#sign', HTMLElement).textContent = asked?.sign ?? ''
  }

  /**
   * The mail was right. A second factor may be asked for.
   *
   * @param {unknown} body
   */
  async function entered(body) {
    keepAsked(null)
    await close()
    const half = /** @type {{ secondFactor?: { token: string } } | null} */ (body)?.secondFactor
    if (half !== undefined) await secondStep(half.token)
  }

  /** The link is used up. */
  async function close() {
    token = ''
    view = ''
    if (session.loggedIn) await reload()
    draw()
  }

  for (const link of document.querySelectorAll('[data-open]')) {
    if (!(link instanceof HTMLElement)) continue
    link.addEventListener('click', () => open(link.dataset.open ?? ''))
  }
  // What was said last is old when something else is done.
  document.addEventListener('submit', () => say(''), { capture: true })

  return {
    /** Whether the page was opened by a link of a mail, or a code of a mail is waited for. */
    isOpened: view !== '',
    focus,
    say,
    loadIdentities,
    /** @param {User | null} found who is logged in */
    show(found) {
      const isOther = found?.id !== user?.id
      user = found
      if (found !== null) keepAsked(null)
      for (const place of document.querySelectorAll('.address')) {
        place.textContent = found?.email ?? 'none'
      }
      for (const part of document.querySelectorAll('[data-password]')) {
        if (!(part instanceof HTMLElement)) continue
        part.hidden = part.dataset.password !== (found?.hasPassword === false ? 'none' : 'set')
        // A browser asks for no field that is disabled.
        for (const field of part.querySelectorAll('input')) field.disabled = part.hidden
      }
      for (const form of document.querySelectorAll('details form')) {
        if (!(form instanceof HTMLFormElement)) continue
        const name = form.querySelector('[autocomplete=username]')
        if (name instanceof HTMLInputElement) name.defaultValue = found?.email ?? found?.name ?? ''
        if (isOther) clear(form)
      }
      draw()
      const words = waiting.get(view)
      if (found === null && words !== undefined) say(words)
    },
  }
}

/** The mail that was asked for before the page was loaded again, unless it has expired. @returns {Asked | null} */
function readAsked() {
  /** @type {Asked | null} */
  const kept = JSON.parse(sessionStorage.getItem(askedKey) ?? 'null')
  return kept !== null && kept.until > Date.now() ? kept : null
}

/**
 * The address in the token of a link. The server verifies the token when it is used.
 *
 * @param {string} token
 */
function addressIn(token) {
  try {
    const payload = token.split('.')[1] ?? ''
    const text = atob(payload.replaceAll('-', '+').replaceAll('_', '/'))
    return String(JSON.parse(text).email)
  } catch {
    return 'someone'
  }
}

/** @param {HTMLFormElement} form */
function clear(form) {
  form.reset()
  const problem = form.querySelector('.notice')
  if (problem !== null) problem.textContent = ''
}

/**
 * Says something at the top of the page, wherever its user is in it.
 *
 * @param {string} text
 * @param {Node[]} actions
 */
function say(text, ...actions) {
  news.replaceChildren(...(text === '' ? [] : [text, ...actions]))
}
