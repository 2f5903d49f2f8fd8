// The session of the page. Its tokens are in cookies that no script can read: all that is known here is for how many
// seconds the access token lives.

/** A token is refreshed when this part of its lifetime has passed. */
const renewAt = 2 / 3

/**
 * @param {object} surroundings
 * @param {string} surroundings.base where the login of the page is
 * @param {() => void} surroundings.whenOver called when the user has to log in
 */
export function createSession({ base, whenOver }) {
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let timer
  /** @type {Promise<boolean> | null} */
  let refreshing = null

  /** @param {Response} response */
  async function keep(response) {
    clearTimeout(timer)
    const { expiresIn } = await response.json()
    timer = setTimeout(refresh, expiresIn * renewAt * 1000)
  }

  async function exchange() {
    const response = await fetch(`${base}/login/refresh`, { method: 'POST' })
    if (response.ok) await keep(response)
    return response.ok
  }

  /** Once, however many requests need it. @returns whether there is a session */
  function refresh() {
    refreshing ??= exchange()
      // The network is away.
      .catch(() => false)
      .finally(() => {
        refreshing = null
      })
    return refreshing
  }

  return {
    /**
     * Like fetch. A 401 means that the access token has expired, as after the computer slept: it is renewed, and the
     * request is sent again, once.
     *
     * @param {string} path
     * @param {RequestInit} [init]
     */
    async request(path, init = {}) {
      const response = await fetch(path, init)
      if (response.status !== 401) return response
      if (await refresh()) return fetch(path, init)
      clearTimeout(timer)
      whenOver()
      return response
    },

    /**
     * @param {{ username: string, password: string }} credentials
     * @returns {Promise<string>} what went wrong, in the language of the browser; empty where nothing did
     */
    async logIn(credentials) {
      const response = await fetch(`${base}/login`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(credentials),
      })
      if (!response.ok) {
        const { error, message } = await response.json()
        return message ?? error
      }
      await keep(response)
      return ''
    },

    /** @param {boolean} everywhere */
    async logOut(everywhere) {
      clearTimeout(timer)
      await fetch(`${base}/logout`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ everywhere }),
      })
      whenOver()
    },
  }
}
