import { createAccounts } from './accounts.js'
import { button, element, find, replaceRows, row, wordsFor } from './elements.js'
import { createSession } from './fastify-authn-browser.js'
import { createFactors } from './factors.js'
import { createKeysPanel } from './keys.js'
import { createMailbox } from './mailbox.js'
import { createUsersPanel } from './users.js'

/**
 * @typedef {import('./accounts.js').User} User
 * @typedef {{ id: number, owner: string | null, title: string, text: string, published: boolean }} Note
 * @typedef {{ sid: string, device: string, address: string, created: string, isThis: boolean }} Session
 */

/** The users of the demo, as in people.ts. */
const people = [
  { email: 'alice@example.org', password: 'wonderland-1865', roles: ['admin', 'editor'] },
  { email: 'bob@example.org', password: 'builder-1999', roles: ['author'] },
]
/** What to say when a login with the provider has failed, by the code of the error. */
const providerProblems = new Map([
  [
    'ERR_AUTH_LOGIN_DENIED',
    'You are not logged in: the login was cancelled, or the provider has rejected it.',
  ],
  [
    'ERR_AUTH_LOGIN_STATE',
    'This login has expired, or began in another browser. Please try again.',
  ],
  [
    'ERR_AUTH_ACCOUNT_EXISTS',
    'There is an account with this address. Log in to it, and connect the provider in “Your account”.',
  ],
  ['ERR_AUTH_ACCOUNT_DISABLED', 'This account is suspended. Please contact support.'],
  ['ERR_AUTH_PROVIDER_UNAVAILABLE', 'The provider cannot be reached. Please try again later.'],
])
/** The same for an account that was to be connected. */
const connectProblems = new Map([
  ['ERR_AUTH_LINK_TAKEN', 'This account of the provider belongs to another user.'],
  ['ERR_AUTH_LOGIN_DENIED', 'Nothing was connected: it was cancelled at the provider.'],
])
/** How many requests are shown, and after how many milliseconds a server that is away is asked again. */
const shownRequests = 12
const patience = 3000

const loginForm = find('#login', HTMLFormElement)
const writeForm = find('#write', HTMLFormElement)
const status = find('#status', HTMLParagraphElement)
const problem = find('#problem', HTMLParagraphElement)
const writeProblem = find('#write-problem', HTMLParagraphElement)
const sessionsProblem = find('#sessions-problem', HTMLParagraphElement)
const publishedProblem = find('#published-problem', HTMLDivElement)
const notes = find('#notes', HTMLUListElement)
const published = find('#published', HTMLUListElement)
const sessions = find('#sessions', HTMLUListElement)
const log = find('#log', HTMLOListElement)

/** @type {User | null} who is logged in */
let user = null
/** @type {User | null} whose drafts are in the forms */
let author = null
let requests = 0
/** @type {Promise<void> | null} */
let loading = null

watchRequests()
const session = createSession({
  login: '/app/login',
  onChange: changed,
  onStepUp: (needs) => factors.confirm(needs),
})
const keys = createKeysPanel(ask)
const mailbox = createMailbox(ask)
const users = createUsersPanel(ask)
const accounts = createAccounts(session, mailbox, load, (token) => factors.finish(token))
const factors = createFactors(session, accounts.say, async () => {
  const asked = await session.mailLogin(user?.email ?? '')
  await mailbox.load()
  if (asked.ok) mailbox.showAbove()
  return asked
})

/** @param {User | null} found who is logged in */
function show(found) {
  const isOther = found?.id !== user?.id
  const groups = new Set(['user', ...(found?.roles ?? [])])
  user = found
  for (const part of document.querySelectorAll('[data-for]')) {
    if (part instanceof HTMLElement) {
      const whose = part.dataset.for ?? ''
      part.hidden = found === null ? whose !== 'anonymous' : !groups.has(whose)
    }
  }
  find('#name', HTMLSpanElement).textContent = nameOf(found)
  find('#role', HTMLSpanElement).textContent = found?.roles.join(', ') ?? ''
  accounts.show(found)
  if (isOther) {
    const boxes = [problem, writeProblem, sessionsProblem, publishedProblem]
    for (const box of boxes) box.textContent = ''
  }
  // Nothing of the last user stays but, for the same user, what was typed.
  if (found !== null && found.id !== author?.id) {
    writeForm.reset()
    keys.reset()
    author = found
  }
  if (found !== null) return
  notes.replaceChildren()
  sessions.replaceChildren()
  keys.clear()
  users.clear()
  factors.clear()
  find('#exported', HTMLElement).textContent = ''
}

/**
 * A user has logged in or out, here or in another tab.
 *
 * @param {{ loggedIn: boolean, reason: 'login' | 'logout' | 'expired' }} change
 */
async function changed({ loggedIn, reason }) {
  if (loggedIn) {
    const before = user?.id
    await load()
    // A change of the password is a login, too.
    if (user?.id !== before && !accounts.focus()) find('#notes-title', HTMLElement).focus()
  } else if (reason === 'expired') {
    revoked()
  } else {
    writeForm.reset()
    keys.reset()
    show(null)
    find('#login [name=email]', HTMLInputElement).focus()
    await loadPublished()
  }
}

/** The session was revoked elsewhere, or has expired, while the page was open. */
function revoked() {
  const isDraft = valuesOf(writeForm).title !== '' || valuesOf(writeForm).text !== ''
  show(null)
  problem.textContent =
    'You have been logged out: this session was revoked elsewhere, or it has expired. ' +
    (isDraft
      ? `What you typed is still there when you log in as ${nameOf(author)}.`
      : 'Please log in.')
  find('#login [name=email]', HTMLInputElement).focus()
  void loadPublished()
}

/**
 * Shows a request, and how it was answered.
 *
 * @param {string} method
 * @param {string} path
 * @param {number | null} code
 */
function record(method, path, code) {
  const badge = element('span', [code === null ? 'away' : String(code)])
  badge.className = code !== null && code < 400 ? 'badge good' : 'badge bad'
  log.prepend(element('li', [badge, element('code', [`${method} ${path}`])]))
  if (log.children.length > shownRequests) log.lastElementChild?.remove()
  requests += 1
  find('#count', HTMLSpanElement).textContent = String(requests)
}

/** Shows all requests, also those of the session. */
function watchRequests() {
  const send = globalThis.fetch
  globalThis.fetch = async (input, init) => {
    const { pathname } = new URL(input instanceof Request ? input.url : input)
    const method = init?.method ?? 'GET'
    try {
      const response = await send(input, init)
      record(method, pathname, response.status)
      return response
    } catch (error) {
      record(method, pathname, null)
      throw error
    }
  }
}

/**
 * Sends a request as the user. It rejects when the server cannot be reached.
 *
 * @param {string} path
 * @param {string} [method]
 * @param {object} [body]
 */
function ask(path, method = 'GET', body) {
  const content = body && {
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  }
  return session.fetch(`/app${path}`, { method, ...content })
}

/**
 * Waits for a response, and says what went wrong in the box, above what it is about.
 *
 * @param {HTMLElement} box
 * @param {Promise<Response>} asked
 * @returns {Promise<Response | null>} null when it failed
 */
async function answerOf(box, asked) {
  box.textContent = ''
  const response = await asked.catch(() => null)
  if (response?.ok) return response
  // It is said at the login.
  if (response?.status === 401 && user === null && box !== problem) return null
  box.textContent = await wordsFor(response)
  return null
}

/** @param {User | null} known */
function nameOf(known) {
  return known?.name ?? known?.email ?? ''
}

/** Who is logged in, and what is theirs: once for all who ask for it meanwhile. */
function load() {
  loading ??= loadAll().finally(() => {
    loading = null
  })
  return loading
}

async function loadAll() {
  const response = await ask('/me').catch(() => null)
  if (response === null || response.status >= 500) {
    status.textContent = 'The server cannot be reached, or has failed. Trying again…'
    setTimeout(load, patience)
    return
  }
  status.textContent = ''
  if (response.ok) show(await response.json())
  if (user === null) return
  await Promise.all([
    loadNotes(),
    keys.load(),
    loadSessions(),
    loadPublished(),
    accounts.loadIdentities(),
    factors.load(),
    user.roles.includes('admin') ? users.load(user.id) : users.clear(),
  ])
}

async function loadNotes() {
  const response = await answerOf(writeProblem, ask('/notes'))
  if (response === null) return
  /** @type {Note[]} */
  const list = await response.json()
  const rows = list.map((note) =>
    row(note.title, note.text, note.published ? ['published'] : [], [
      button('Delete', () => remove(note), `Delete ${note.title}`),
    ]),
  )
  replaceRows(notes, rows, find('#notes-title', HTMLElement), 'You have no notes yet.')
}

/** @param {Note} note */
async function remove({ id, published }) {
  if ((await answerOf(writeProblem, ask(`/notes/${id}`, 'DELETE'))) === null) return
  await Promise.all([loadNotes(), published ? loadPublished() : null])
}

async function loadPublished() {
  const response = await answerOf(publishedProblem, ask('/notes/published'))
  if (response === null) return
  /** @type {Note[]} */
  const list = await response.json()
  const rows = list.map((note) =>
    row(
      note.title,
      note.text,
      [`by ${note.owner ?? 'a user'}`],
      user === null ? [] : [button('Unpublish', () => unpublish(note), `Unpublish ${note.title}`)],
    ),
  )
  replaceRows(published, rows, find('#published-title', HTMLElement), 'There are none.')
}

/** What only an editor may do. @param {Note} note */
async function unpublish({ id, title }) {
  const path = `/notes/published/${id}`
  const response = await ask(path, 'DELETE').catch(() => null)
  if (response?.status === 403 && user !== null) {
    // The page could hide the button. The route would be no less protected, and the 403 would be hidden.
    publishedProblem.replaceChildren(
      element('strong', ['Only an editor can unpublish a note.']),
      element('p', [
        `You are logged in as ${nameOf(user)}, whose roles are: ${user.roles.join(', ') || 'none'}. “${title}” is still published.`,
      ]),
      element('code', [`DELETE /app${path}: 403 ${await response.text()}`]),
    )
    return
  }
  if (response !== null && (response.ok || response.status === 404)) {
    publishedProblem.textContent = ''
    await Promise.all([loadPublished(), loadNotes()])
    return
  }
  if (response?.status !== 401) publishedProblem.textContent = await wordsFor(response)
}

async function loadSessions() {
  const response = await answerOf(sessionsProblem, ask('/sessions'))
  if (response === null) return
  /** @type {Session[]} */
  const list = await response.json()
  const rows = list.map(({ sid, device, address, created, isThis }) => {
    const since = new Date(created).toLocaleString([], { dateStyle: 'medium', timeStyle: 'short' })
    const end = button('Log out', () => endSession(sid), `Log out ${device}, since ${since}`)
    const what = isThis ? ['this browser'] : []
    return row(device, `${address}, since ${since}`, what, isThis ? [] : [end])
  })
  replaceRows(sessions, rows, find('#sessions-title', HTMLElement), '')
}

/** @param {string} sid */
async function endSession(sid) {
  const ended = await answerOf(sessionsProblem, ask(`/sessions/${sid}`, 'DELETE'))
  if (ended !== null) await loadSessions()
}

/**
 * @param {HTMLFormElement} form
 * @returns {Record<string, string>}
 */
function valuesOf(form) {
  const values = [...new FormData(form)]
  return Object.fromEntries(
    values.map(([name, value]) => [name, value instanceof File ? '' : value]),
  )
}

for (const { email, password, roles } of people) {
  const use = button(
    'Fill in',
    () => {
      find('#login [name=email]', HTMLInputElement).value = email
      find('#login [name=password]', HTMLInputElement).value = password
      find('#login .primary', HTMLButtonElement).focus()
    },
    `Fill in ${email}`,
  )
  find('#people', HTMLUListElement).append(row(email, password, roles, [use]))
}

loginForm.addEventListener('submit', async (event) => {
  event.preventDefault()
  problem.textContent = ''
  const { ok, status, error, body } = await session.logIn(valuesOf(loginForm))
  problem.textContent = error
  if (ok) loginForm.reset()
  if (status === 202) {
    await factors.finish(
      /** @type {{ secondFactor: { token: string } }} */ (body).secondFactor.token,
    )
  } else find('[name=password]', HTMLInputElement).select()
})

writeForm.addEventListener('submit', async (event) => {
  event.preventDefault()
  const { title, text, published } = valuesOf(writeForm)
  const note = { title, text, published: published !== undefined }
  if ((await answerOf(writeProblem, ask('/notes', 'POST', note))) === null) return
  writeForm.reset()
  find('#write [name=title]', HTMLInputElement).focus()
  await Promise.all([loadNotes(), note.published ? loadPublished() : null])
})

const exported = find('#exported', HTMLElement)
find('#export', HTMLFormElement).addEventListener('submit', async (event) => {
  event.preventDefault()
  exported.textContent = ''
  const response = await answerOf(find('#export .notice', HTMLElement), ask('/export'))
  if (response !== null) exported.textContent = JSON.stringify(await response.json(), null, 2)
})

/** @param {boolean} everywhere */
async function leave(everywhere) {
  sessionsProblem.textContent = ''
  const { ok, error } = await session.logOut({ everywhere })
  sessionsProblem.textContent = error
  if (ok) accounts.say(everywhere ? 'You are logged out, here and everywhere else.' : '')
}
find('#leave', HTMLButtonElement).addEventListener('click', () => leave(false))
find('#leave-all', HTMLButtonElement).addEventListener('click', () => leave(true))

addEventListener('offline', () => {
  status.textContent = 'You are offline. What you type stays here.'
})
addEventListener('online', () => {
  status.textContent = ''
})

find('#requests', HTMLDetailsElement).open = matchMedia('(width >= 48rem)').matches

// A login with a provider ends here, with `provider` in the address, and where it has failed with `error`.
const ended = new URLSearchParams(location.search)
const wasLoggedIn = session.loggedIn
// After a login with a provider, for which a code is missing: see `page` of the option secondFactor.
const halfway = location.pathname === '/app/' ? location.hash.slice(1) : ''
if (halfway !== '') history.replaceState(null, '', location.pathname)
if (ended.has('provider') || ended.has('connected')) {
  history.replaceState(null, '', location.pathname)
  if (ended.has('provider') && !ended.has('error')) await session.refresh().catch(() => false)
}
if (wasLoggedIn) await load()
if (user !== null && (ended.has('connected') || ended.has('error'))) {
  const failure = ended.get('error')
  accounts.say(
    failure === null
      ? 'The account at the demo provider is connected: you can log in there.'
      : (connectProblems.get(failure) ?? 'The account at the provider could not be connected.'),
  )
}
if (user === null && (wasLoggedIn || !session.loggedIn)) {
  if (status.textContent === '' && problem.textContent === '') show(null)
  const failure = ended.get('error')
  if (failure !== null) {
    // No word of the address: anyone can make a link to this page.
    problem.textContent =
      providerProblems.get(failure) ??
      'You are not logged in: the login with the provider has failed.'
  }
  await loadPublished()
}
if (halfway !== '') await factors.finish(halfway)
if (user === null) void factors.offer()
if (accounts.isOpened) accounts.focus()
await mailbox.load()
