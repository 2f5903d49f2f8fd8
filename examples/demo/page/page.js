import { button, element, find } from './elements.js'
import { createKeysPanel } from './keys.js'
import { createSession } from './session.js'

const account = find('#account', HTMLParagraphElement)
const loginForm = find('#login', HTMLFormElement)
const writeForm = find('#write', HTMLFormElement)
const app = find('#app', HTMLDivElement)
const problem = find('#problem', HTMLParagraphElement)
const notes = find('#notes', HTMLUListElement)
const sessions = find('#sessions', HTMLTableSectionElement)

const session = createSession({ base: '/app', whenOver: () => show(null) })
const keys = createKeysPanel(ask)

/** @param {{ name: string } | null} user who is logged in */
function show(user) {
  loginForm.hidden = user !== null
  app.hidden = user === null
  account.hidden = user === null
  find('#name', HTMLSpanElement).textContent = user?.name ?? ''
  if (user !== null) return
  // Nothing of the last user stays.
  notes.replaceChildren()
  sessions.replaceChildren()
  keys.clear()
}

/**
 * @param {string} path
 * @param {string} [method]
 * @param {object} [body]
 */
function ask(path, method = 'GET', body) {
  const content = body && {
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  }
  return session.request(`/app${path}`, { method, ...content })
}

/** Who is logged in, and what is theirs. */
async function load() {
  const response = await ask('/me')
  if (!response.ok) return
  show(await response.json())
  await Promise.all([loadNotes(), keys.load(), loadSessions()])
}

/** @param {string} path */
async function listOf(path) {
  const response = await ask(path)
  return response.ok ? response.json() : []
}

async function loadNotes() {
  const list = await listOf('/notes')
  notes.replaceChildren(
    ...list.map((/** @type {{ id: number, title: string, text: string }} */ note) =>
      element('li', [
        element('strong', [note.title]),
        button('Delete', async () => {
          await ask(`/notes/${note.id}`, 'DELETE')
          await loadNotes()
        }),
        element('p', [note.text]),
      ]),
    ),
  )
}

async function loadSessions() {
  const list = await listOf('/sessions')
  sessions.replaceChildren(
    ...list.map(
      (
        /** @type {{ sid: string, device: string, address: string, created: string, isThis: boolean }} */ {
          sid,
          device,
          address,
          created,
          isThis,
        },
      ) =>
        element('tr', [
          element('td', [device]),
          element('td', [address]),
          element('td', [new Date(created).toLocaleString()]),
          element('td', [isThis ? 'this one' : button('End', () => endSession(sid))]),
        ]),
    ),
  )
}

/** @param {string} sid */
async function endSession(sid) {
  await ask(`/sessions/${sid}`, 'DELETE')
  await loadSessions()
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

loginForm.addEventListener('submit', async (event) => {
  event.preventDefault()
  const { username = '', password = '' } = valuesOf(loginForm)
  problem.textContent = await session.logIn({ username, password })
  if (problem.textContent !== '') return
  loginForm.reset()
  await load()
})

writeForm.addEventListener('submit', async (event) => {
  event.preventDefault()
  await ask('/notes', 'POST', valuesOf(writeForm))
  writeForm.reset()
  await loadNotes()
})

find('#leave', HTMLButtonElement).addEventListener('click', () => session.logOut(false))
find('#leave-all', HTMLButtonElement).addEventListener('click', () => session.logOut(true))

await load()
