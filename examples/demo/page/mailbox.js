// The panel "Mailbox of this demo": the mails that a real app would hand to a mail server.
import { element, find, replaceRows, wordsFor } from './elements.js'

/** @typedef {{ sent: string, to: string, subject: string, text: string, open: string | null }} Mail */

const list = find('#mails', HTMLUListElement)
const title = find('#mailbox-title', HTMLElement)
const problem = find('#mailbox .notice', HTMLElement)

/** @param {(path: string) => Promise<Response>} ask sends a request */
export function createMailbox(ask) {
  async function load() {
    problem.textContent = ''
    const response = await ask('/mails').catch(() => null)
    if (!response?.ok) {
      problem.textContent = await wordsFor(response)
      return
    }
    /** @type {Mail[]} */
    const mails = await response.json()
    replaceRows(list, mails.map(rowOf), title, 'There are no mails yet.')
  }

  find('#look', HTMLButtonElement).addEventListener('click', load)

  /** @param {ScrollLogicalPosition} block */
  function lead(block) {
    title.focus()
    title.scrollIntoView({ block })
  }

  return {
    load,
    /** Leads there. */
    show: () => lead('nearest'),
    /** Leads there, with the newest mail at the top of the window: a dialog is at its bottom. */
    showAbove: () => lead('start'),
  }
}

/** @param {Mail} mail */
function rowOf({ sent, to, subject, text, open }) {
  const time = new Date(sent).toLocaleTimeString([], { timeStyle: 'short' })
  const row = element('li', [
    element('h3', [subject]),
    element('p', [`To ${to}, ${time}`]),
    element('p', [text]),
  ])
  if (open !== null) {
    const link = element('a', ['Open the link'])
    link.className = 'button'
    link.setAttribute('href', open)
    link.setAttribute('aria-label', `Open the link: ${subject}, to ${to}`)
    row.append(link)
  }
  return row
}
