// The session of the page. Its token is in a variable of this closure: gone with the page, and out of reach
// for everything that looks through storage or cookies.

/** A token is renewed when this part of its life is over. */
const renewAt = 2 / 3
/** Shorter lives, in seconds, come at the end of a session, and are not renewed. */
const shortest = 30

/**
 * @param {object} surroundings
 * @param {(problem: string) => Promise<{ username: string, password: string }>} surroundings.askPassword
 *   shows the login, with what went wrong the last time, or an empty text
 * @param {string} [surroundings.origin] where the server is, and the only place that is sent the token
 */
export function createSession({ askPassword, origin = globalThis.location.origin }) {
  /** @type {string | null} */
  let token = null
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let timer
  /** @type {Promise<void> | null} */
  let loggingIn = null

  /** @param {string | null} next */
  function keep(next) {
    token = next
    clearTimeout(timer)
    if (token === null) return
    const { nbf, exp } = claimsOf(token)
    // By the life of the token, and not by a clock that may be wrong.
    if (exp - nbf >= shortest) timer = setTimeout(renew, (exp - nbf) * renewAt * 1000)
  }

  /** In silence. What does not work out is found by the next request. */
  async function renew() {
    const old = token
    try {
      const response = await fetch(new URL('/renew', origin), {
        method: 'POST',
        headers: authorization(),
      })
      if (!response.ok) return
      const { token: next } = await response.json()
      // Not when somebody has signed out, or in, meanwhile.
      if (token === old) keep(next)
    } catch {
      // The network is away.
    }
  }

  async function login() {
    for (let problem = ''; ;) {
      const credentials = await askPassword(problem)
      const response = await fetch(new URL('/login', origin), {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(credentials),
      })
      const body = await response.json()
      if (response.ok) return keep(body.token)
      // For people, and in their language: 401, or 429 and 503, where one has to wait.
      problem = body.error ?? body.message
    }
  }

  /** One login, however many requests need it. */
  function loginOnce() {
    loggingIn ??= login().finally(() => {
      loggingIn = null
    })
    return loggingIn
  }

  /** @returns {Record<string, string>} */
  function authorization() {
    return token === null ? {} : { authorization: `Bearer ${token}` }
  }

  return {
    /**
     * Like fetch, to our own server. A 401 means that the token is of no use (any longer), whatever its text
     * says: after a login the request is sent again, once.
     *
     * @param {string} path
     * @param {RequestInit} [init]
     */
    async request(path, init = {}) {
      // What looks like a path (//elsewhere.example, or with a backslash) may lead to somebody else.
      const url = new URL(path, origin)
      if (url.origin !== origin) throw new TypeError('A path of our own server is expected.')
      const send = () => {
        const headers = new Headers(init.headers)
        for (const [name, value] of Object.entries(authorization())) headers.set(name, value)
        return fetch(url, { ...init, headers })
      }
      if (token === null) await loginOnce()
      const used = token
      const response = await send()
      if (response.status !== 401) return response
      // Another request may have logged in meanwhile.
      if (token === used) await loginOnce()
      return send()
    },

    renew,

    /** The token is forgotten. It stays good until it ends, in a few minutes, for whoever has a copy. */
    signOut: () => keep(null),
  }
}

/**
 * What a token says of itself: enough for a timer. Only the server can judge it.
 *
 * @param {string} token
 * @returns {{ nbf: number, exp: number }}
 */
function claimsOf(token) {
  const [, payload = ''] = token.split('.')
  return JSON.parse(atob(payload.replaceAll('-', '+').replaceAll('_', '/')))
}
