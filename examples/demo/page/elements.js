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
 */
export function button(text, act) {
  const made = element('button', [text])
  made.setAttribute('type', 'button')
  made.addEventListener('click', act)
  return made
}
