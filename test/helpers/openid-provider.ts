import { fork, type ChildProcess } from 'node:child_process'
import type { Test } from 'tap'
import { nodeArguments, programOf } from './project.js'

export const clientSecret = 'a secret of the test, which is long'

/**
 * Starts a real OpenID provider in a process of its own, on a port that stays the same: with the users alice and bob and
 * the client `shop`, whose callback is that of `loginWith.corp`.
 */
export async function realProvider(t: Test) {
  let child: ChildProcess
  const start = async (port: string): Promise<string> => {
    child = fork(programOf('test/helpers/openid-provider-app.ts'), {
      execArgv: [...nodeArguments],
      // It writes advice for its developer, such as to use https.
      silent: true,
      env: {
        ...process.env,
        PROVIDER_PORT: port,
        PROVIDER_SECRET: clientSecret,
      },
    })
    return new Promise((resolve, reject) => {
      child.once('message', (message) => resolve(message as string))
      child.once('exit', (code) => reject(new Error(`the provider ended with ${code}`)))
    })
  }
  const kill = async (): Promise<void> => {
    if (child.exitCode !== null || child.signalCode !== null) return
    const ended = new Promise((resolve) => child.once('exit', resolve))
    child.kill('SIGKILL')
    await ended
  }
  const issuer = await start('0')
  t.teardown(kill)
  return {
    issuer,
    /** With another key. */
    async restart() {
      await kill()
      await start(new URL(issuer).port)
    },
  }
}

/** A browser without pages: it keeps cookies by origin, and follows no redirect by itself. */
export function visitor() {
  const jars = new Map<string, Map<string, string>>()
  const jarOf = (url: string): Map<string, string> => {
    const { origin } = new URL(url)
    return jars.get(origin) ?? jars.set(origin, new Map()).get(origin) ?? new Map()
  }
  /** The header `Cookie` for an origin. */
  const cookies = (url: string): string =>
    [...jarOf(url)].map(([name, value]) => `${name}=${value}`).join('; ')
  /** @param body - sent by POST: a form, or JSON */
  const open = async (url: string, body?: URLSearchParams | object): Promise<Response> => {
    const isForm = body instanceof URLSearchParams
    const type = body && !isForm && { 'content-type': 'application/json' }
    const response = await fetch(url, {
      redirect: 'manual',
      headers: { cookie: cookies(url), ...type },
      ...(body && { method: 'POST', body: isForm ? body : JSON.stringify(body) }),
    })
    for (const line of response.headers.getSetCookie()) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(line) ?? []
      if (value === '') jarOf(url).delete(name)
      else jarOf(url).set(name, value)
    }
    return response
  }
  /** Follows redirects to what is none, or to the callback. */
  const follow = async (url: string, form?: URLSearchParams): Promise<string> => {
    const location = (await open(url, form)).headers.get('location')
    if (location === null) return url
    const next = new URL(location, url).href
    return next.includes('/callback?') ? next : follow(next)
  }
  /** Begins a login and chooses a name at the provider; an empty one cancels. @returns where the callback is, unopened */
  const choose = async (start: string, who: string): Promise<string> =>
    follow(await follow(start), new URLSearchParams({ who }))
  return {
    open,
    cookies,
    choose,
    /** Begins to link, and chooses a name at the provider. @returns the address of the callback */
    async chooseLink(start: string, who: string) {
      const { location } = (await (await open(`${start}/link`, {})).json()) as { location: string }
      return choose(location, who)
    },
  }
}
