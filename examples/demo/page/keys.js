// The panel "API keys": makes a key and shows it once, lists, rotates and revokes.
import { button, element, find, wordsFor } from './elements.js'

/**
 * @typedef {object} Key
 * @property {string} id
 * @property {string} name
 * @property {string[]} scopes
 * @property {string} createdAt
 * @property {string | null} expiresAt
 * @property {string | null} lastUsedAt
 * @property {string | null} revokedAt
 * @property {string | null} replacedBy
 */

const form = find('#new-key', HTMLFormElement)
const problem = find('#keys-problem', HTMLParagraphElement)
const fresh = find('#fresh', HTMLDivElement)
const list = find('#keys', HTMLUListElement)
const dialog = find('#confirm', HTMLDialogElement)
const overlap = find('#overlap', HTMLSelectElement)
const firstScope = find('#new-key [name=scopes]', HTMLInputElement)

/** @param {(path: string, method?: string, body?: object) => Promise<Response>} ask sends a request as the user */
export function createKeysPanel(ask) {
  /**
   * Sends a request, and says in the panel what went wrong.
   *
   * @param {string} path
   * @param {string} [method]
   * @param {object} [body]
   */
  async function attempt(path, method, body) {
    problem.textContent = ''
    const response = await ask(`/keys${path}`, method, body).catch(() => null)
    if (response?.ok) return response
    // It is said at the login.
    if (response?.status === 401) return null
    problem.textContent =
      response?.status === 400
        ? 'This name cannot be used: letters, digits and spaces can.'
        : await wordsFor(response)
    return null
  }

  async function load() {
    const response = await attempt('/')
    if (response === null) return
    /** @type {Key[]} */
    const keys = await response.json()
    const none = element('li', ['You have no keys yet.'])
    none.className = 'hint'
    list.replaceChildren(...(keys.length > 0 ? keys.map(rowOf) : [none]))
  }

  /** @param {Key} key */
  function rowOf(key) {
    const state = stateOf(key)
    const title = element('h3', [key.name, ' '])
    const badge = element('span', [state])
    badge.className = `badge state ${state === 'active' ? 'good' : ''}`
    title.append(badge)
    const facts = element('dl', [])
    for (const [term, text] of factsOf(key)) {
      facts.append(element('div', [element('dt', [term]), element('dd', [text])]))
    }
    const what = element('div', [element('code', [`demo_${key.id}…`]), ` ${key.scopes.join(', ')}`])
    const row = element('li', [title, what, facts])
    row.dataset.id = key.id
    // Where the focus goes when the button that had it is gone.
    row.tabIndex = -1
    if (state === 'active' || state === 'replaced') {
      const rotate = button('Rotate', () => change(key, 'rotate'), `Rotate ${key.name}`)
      const revoke = button('Revoke', () => change(key, 'revoke'), `Revoke ${key.name}`)
      const actions = element('div', state === 'active' ? [rotate, revoke] : [revoke])
      actions.className = 'actions'
      row.append(actions)
    }
    return row
  }

  /**
   * Asks whether it is meant, and does it.
   *
   * @param {Key} key
   * @param {'rotate' | 'revoke'} how
   */
  async function change({ id, name }, how) {
    if (!(await confirm(name, how))) return
    if (how === 'rotate') {
      const body = { overlap: Number(overlap.value) }
      const response = await attempt(`/${id}/rotate`, 'POST', body)
      if (response !== null) show(await response.json())
    } else if ((await attempt(`/${id}`, 'DELETE')) !== null) {
      // A key that no longer works is not left there to be copied.
      if (fresh.dataset.id === id) forget()
    }
    const { textContent } = problem
    await load()
    // What was wrong stays to be read, unless there is something newer.
    problem.textContent ||= textContent
    if (fresh.contains(document.activeElement)) return
    const row = list.querySelector(`[data-id="${id}"]`)
    if (row instanceof HTMLElement) row.focus()
    // The list may be long.
    if (problem.textContent !== '') problem.scrollIntoView({ block: 'nearest' })
  }

  /** @param {Key & { key: string }} made */
  function show({ id, name, scopes, key }) {
    fresh.dataset.id = id
    find('#fresh-name', HTMLElement).textContent = name
    find('#fresh-key', HTMLElement).textContent = key
    find('#fresh-curl', HTMLElement).textContent = curlFor(key, scopes)
    fresh.hidden = false
    fresh.focus()
  }

  form.addEventListener('change', () => firstScope.setCustomValidity(''))
  form.addEventListener('submit', async (event) => {
    event.preventDefault()
    const values = new FormData(form)
    const scopes = values.getAll('scopes')
    if (scopes.length === 0) {
      firstScope.setCustomValidity('Choose at least one thing that the key may do.')
      firstScope.reportValidity()
      return
    }
    const body = { name: values.get('name'), scopes, days: Number(values.get('days')) }
    const response = await attempt('/', 'POST', body)
    if (response === null) return
    form.reset()
    show(await response.json())
    await load()
  })

  for (const name of ['key', 'curl']) {
    const copy = find(`#copy-${name}`, HTMLButtonElement)
    copy.addEventListener('click', () => copyText(copy, find(`#fresh-${name}`, HTMLElement)))
  }
  find('#fresh-done', HTMLButtonElement).addEventListener('click', () => {
    forget()
    find('#new-key [name=name]', HTMLInputElement).focus()
  })

  function forget() {
    fresh.hidden = true
    for (const name of ['key', 'curl']) find(`#fresh-${name}`, HTMLElement).textContent = ''
  }

  return {
    load,
    /** Nothing of the last user stays. */
    clear() {
      forget()
      list.replaceChildren()
      problem.textContent = ''
      if (dialog.open) dialog.close()
    },
    /** Nor what was typed. */
    reset: () => form.reset(),
  }
}

/**
 * @param {string} name
 * @param {'rotate' | 'revoke'} how
 * @returns {Promise<boolean>} whether it is meant
 */
function confirm(name, how) {
  const isRotation = how === 'rotate'
  find('#confirm h2', HTMLElement).textContent = `${isRotation ? 'Rotate' : 'Revoke'} “${name}”?`
  find('#confirm p', HTMLElement).textContent = isRotation
    ? 'You get a new key with the same name and scopes. The old one works on for a while, so that you can replace it.'
    : 'Whatever uses this key is rejected from now on. This cannot be undone.'
  find('#overlap-label', HTMLElement).hidden = !isRotation
  find('#confirm-yes', HTMLButtonElement).textContent = isRotation ? 'Rotate' : 'Revoke'
  dialog.returnValue = ''
  dialog.showModal()
  return new Promise((resolve) => {
    dialog.addEventListener('close', () => resolve(dialog.returnValue === 'yes'), { once: true })
  })
}

/** @param {Key} key */
function stateOf({ revokedAt, expiresAt, replacedBy }) {
  if (revokedAt !== null) return 'revoked'
  if (expiresAt !== null && new Date(expiresAt) <= new Date()) return 'expired'
  return replacedBy === null ? 'active' : 'replaced'
}

/**
 * @param {Key} key
 * @returns {[string, string][]}
 */
function factsOf({ createdAt, expiresAt, lastUsedAt, revokedAt }) {
  const day = (/** @type {string} */ time) =>
    new Date(time).toLocaleString([], { dateStyle: 'medium', timeStyle: 'short' })
  return [
    ['Created', day(createdAt)],
    revokedAt === null
      ? ['Expires', expiresAt === null ? 'never' : day(expiresAt)]
      : ['Revoked', day(revokedAt)],
    ['Last used', lastUsedAt === null ? 'never' : day(lastUsedAt)],
  ]
}

/**
 * A line for a shell that works with what the key may do.
 *
 * @param {string} key
 * @param {string[]} scopes
 */
function curlFor(key, scopes) {
  const line = `curl ${location.origin}/notes -H 'Authorization: Bearer ${key}'`
  if (scopes.includes('notes:read')) return line
  return `${line} -H 'Content-Type: application/json' -d '{"title":"Tea","text":"At five."}'`
}

/**
 * @param {HTMLButtonElement} copy
 * @param {HTMLElement} source
 */
async function copyText(copy, source) {
  const before = copy.textContent
  try {
    // Only where the page comes by HTTPS or from this machine.
    await navigator.clipboard.writeText(source.textContent ?? '')
    copy.textContent = 'Copied'
  } catch {
    getSelection()?.selectAllChildren(source)
    copy.textContent = 'Selected: press Ctrl-C'
  }
  setTimeout(() => {
    copy.textContent = before
  }, 2000)
}
