/**
 * @template {Element} T
 * @param {string} selector
 * @param {new () => T} type
 */
export function find(selector, type) {
  const element = document.querySelector(selector)
  if (!(element instanceof type)) throw new Error(`${selector} is missing`)
  return element
}

/**
 * Texts stay texts, whatever is in them.
 *
 * @param {string} name
 * @param {(Node | string)[]} content
 */
export function element(name, content) {
  const made = document.createElement(name)
  made.append(...content)
  return made
}

/**
 * @param {string} text
 * @param {() => unknown} act
 * @param {string} [label] what it says to people who do not see what stands beside it
 */
export function button(text, act, label) {
  const made = element('button', [text])
  made.setAttribute('type', 'button')
  if (label !== undefined) made.setAttribute('aria-label', label)
  made.addEventListener('click', act)
  return made
}

/**
 * A row of a list.
 *
 * @param {string} title
 * @param {string} text
 * @param {string[]} states
 * @param {Node[]} actions
 */
export function row(title, text, states, actions) {
  const head = element('h3', [element('strong', [title])])
  for (const state of states) {
    const badge = element('span', [state])
    badge.className = 'badge'
    head.append(' ', badge)
  }
  return element('li', [head, ...actions, ...(text === '' ? [] : [element('p', [text])])])
}

/**
 * Shows other rows in a list. A button that had the focus hands it on to that of the row in its place.
 *
 * @param {HTMLUListElement} list
 * @param {HTMLElement[]} rows
 * @param {HTMLElement} heading what gets the focus when there is no such button
 * @param {string} none what is shown in place of no rows
 */
export function replaceRows(list, rows, heading, none) {
  const at = [...list.children].findIndex((row) => row.contains(document.activeElement))
  const empty = element('li', [none])
  empty.className = 'hint'
  list.replaceChildren(...(rows.length === 0 && none !== '' ? [empty] : rows))
  if (at === -1) return
  const next = rows[Math.min(at, rows.length - 1)]?.querySelector('button')
  ;(next ?? heading).focus()
}

/**
 * What went wrong.
 *
 * @param {Response | null} response null where the server is away
 * @returns {Promise<string>}
 */
export async function wordsFor(response) {
  if (response === null) {
    return 'The server cannot be reached. Nothing is lost: try again in a moment.'
  }
  if (response.status >= 500) {
    return `The server has failed (${response.status}). Nothing is lost: try again in a moment.`
  }
  const { error, message } = await response.json().catch(() => ({}))
  return message ?? error ?? `That did not work (${response.status}).`
}
