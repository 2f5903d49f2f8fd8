import { createSession } from './session.js'

/**
 * @template {Element} T
 * @param {string} selector
 * @param {new () => T} type
 */
function find(selector, type) {
  const element = document.querySelector(selector)
  if (!(element instanceof type)) throw new Error(`${selector} is missing`)
  return element
}

const answer = find('#answer', HTMLOutputElement)
const dialog = find('#login', HTMLDialogElement)
const form = find('#form', HTMLFormElement)
const problem = find('#problem', HTMLParagraphElement)
const username = find('[name=username]', HTMLInputElement)
const password = find('[name=password]', HTMLInputElement)

/**
 * @param {string} text
 * @returns {Promise<{ username: string, password: string }>}
 */
function askPassword(text) {
  problem.textContent = text
  dialog.showModal()
  return new Promise((resolve, reject) => {
    const submitted = (/** @type {Event} */ event) => {
      event.preventDefault()
      resolve({ username: username.value, password: password.value })
      dialog.close()
    }
    form.addEventListener('submit', submitted, { once: true })
    // Also when Escape has closed it; after the answer it changes nothing.
    const closed = () => {
      password.value = ''
      form.removeEventListener('submit', submitted)
      reject(new Error('Nobody has signed in.'))
    }
    dialog.addEventListener('close', closed, { once: true })
  })
}

const session = createSession({ askPassword })

async function ask() {
  try {
    const response = await session.request('/api/me')
    const body = await response.json()
    return response.ok ? `You are ${body.username}.` : body.error
  } catch (error) {
    return String(error instanceof Error ? error.message : error)
  }
}

find('#ask', HTMLButtonElement).addEventListener('click', async () => {
  // As text, never as HTML.
  answer.textContent = await ask()
})

find('#leave', HTMLButtonElement).addEventListener('click', () => {
  session.signOut()
  answer.textContent = 'Nobody, any longer.'
})
