// The panel "Users", over the admin API: lists the users, changes their roles, disables and enables them.
import { button, element, find, replaceRows, row, wordsFor } from './elements.js'

/**
 * @typedef {object} Listed
 * @property {string} id
 * @property {string | null} name
 * @property {string | null} email
 * @property {string[]} roles
 * @property {string | null} disabledAt
 */

/** The roles that the demo knows: see the marks of its routes. */
const known = ['editor', 'admin']

const list = find('#users', HTMLUListElement)
const problem = find('#users-problem', HTMLElement)

/** @param {(path: string, method?: string, body?: object) => Promise<Response>} ask sends a request as the user */
export function createUsersPanel(ask) {
  let own = ''

  /**
   * Sends a request, and says in the panel what went wrong.
   *
   * @param {string} path
   * @param {string} [method]
   * @param {object} [body]
   */
  async function attempt(path, method, body) {
    problem.textContent = ''
    const response = await ask(`/admin/users${path}`, method, body).catch(() => null)
    if (response?.ok) return response
    // It is said at the login.
    if (response?.status !== 401) problem.textContent = await wordsFor(response)
    return null
  }

  async function load() {
    const response = await attempt('?limit=20')
    if (response === null) return
    /** @type {{ users: Listed[] }} */
    const { users } = await response.json()
    replaceRows(list, users.map(rowOf), find('#users-title', HTMLElement), '')
  }

  /** @param {Listed} user */
  function rowOf({ id, name, email, roles, disabledAt }) {
    const title = name ?? email ?? id
    const states = [...roles, ...(disabledAt === null ? [] : ['disabled'])]
    /**
     * @param {string} text
     * @param {string} path
     * @param {object} [body]
     */
    const act = (text, path, body = {}) =>
      button(
        text,
        async () => {
          if ((await attempt(`/${id}${path}`, 'POST', body)) !== null) await load()
        },
        `${text}: ${title}`,
      )
    const actions = element('div', [
      ...known.map((role) =>
        roles.includes(role)
          ? act(`Revoke ${role}`, '', { roles: roles.filter((each) => each !== role) })
          : act(`Make ${role}`, '', { roles: [...roles, role] }),
      ),
      disabledAt === null ? act('Disable', '/disable') : act('Enable', '/enable'),
    ])
    actions.className = 'actions'
    // For the own account, these routes answer 409.
    return row(title, email ?? 'no address', states, id === own ? [] : [actions])
  }

  return {
    /** @param {string} admin the id of who is logged in */
    async load(admin) {
      own = admin
      await load()
    },
    /** Nothing of the last user stays. */
    clear() {
      list.replaceChildren()
      problem.textContent = ''
    },
  }
}
