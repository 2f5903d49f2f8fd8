// The session of the page. Its tokens are in cookies that no script can read: all that is known here is for how many
// seconds the access token lives, and whether a user has logged in with this browser.

/** A token is refreshed when this part of its lifetime has passed. */
const renewAt = 2 / 3
/** After how many milliseconds a refresh is tried again that the server did not answer. */
const patience = 5000
/** Set while there is a session, so that the page of an anonymous visitor asks for nothing that needs one. */
const hint = 'demo-session'

/** What is thrown when the server cannot be reached. */
export class AwayError extends Error {}

/**
 * @param {object} surroundings
 * @param {string} surroundings.base where the login of the page is
 * @param {() => void} surroundings.onEnd called when the session has been revoked elsewhere, or has expired
 * @param {(method: string, path: string, status: number | null) => void} surroundings.onAnswer called for each request
 */
export function createSession({ base, onEnd, onAnswer }) {
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let timer
  /** @type {Promise<'fresh' | 'over' | 'away'> | null} */
  let refreshing = null

  /**
   * @param {string} path
   * @param {RequestInit} [init]
   * @throws {AwayError}
   */
  async function send(path, init = {}) {
    const response = await fetch(path, init).catch(() => null)
    onAnswer(init.method ?? 'GET', path, response?.status ?? null)
    if (response === null) throw new AwayError()
    return response
  }

  /** @param {object} body */
  const json = (body) => ({
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })

  /** @param {Response} response */
  async function keep(response) {
    const { expiresIn } = await response.json()
    localStorage.setItem(hint, 'yes')
    clearTimeout(timer)
    timer = setTimeout(refresh, expiresIn * renewAt * 1000)
  }

  function forget() {
    clearTimeout(timer)
    localStorage.removeItem(hint)
  }

  async function exchange() {
    const response = await send(`${base}/login/refresh`, { method: 'POST' })
    if (response.ok) {
      await keep(response)
      return 'fresh'
    }
    if (response.status !== 401) return 'away'
    forget()
    onEnd()
    return 'over'
  }

  /** Once, however many requests need it. A server that is away, or fails, is no logout: the page asks again later. */
  function refresh() {
    refreshing ??= exchange()
      .catch(() => /** @type {const} */ ('away'))
      .then((result) => {
        refreshing = null
        if (result === 'away') timer = setTimeout(refresh, patience)
        return result
      })
    return refreshing
  }

  return {
    /** Whether it is worth asking who is logged in. */
    mayExist: () => localStorage.getItem(hint) !== null,

    /**
     * Like fetch. A 401 means that the access token has expired, as after the computer slept: it is refreshed, and the
     * request is sent again, once.
     *
     * @param {string} path
     * @param {RequestInit} [init]
     * @throws {AwayError} when the server cannot be reached
     */
    async request(path, init) {
      const response = await send(path, init)
      if (response.status !== 401) return response
      const result = await refresh()
      if (result === 'away') throw new AwayError()
      return result === 'fresh' ? send(path, init) : response
    },

    /** Finds the session that a login with a provider has begun, which no script of this page has seen. */
    find: refresh,

    /**
     * @param {{ username: string, password: string }} credentials
     * @throws {AwayError}
     */
    async logIn(credentials) {
      const response = await send(`${base}/login`, json(credentials))
      if (response.ok) await keep(response)
      return response
    },

    /**
     * @param {boolean} everywhere
     * @throws {AwayError}
     */
    async logOut(everywhere) {
      const response = await send(`${base}/logout`, json({ everywhere }))
      if (response.ok) forget()
      return response
    },
  }
}
