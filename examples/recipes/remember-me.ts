import type { FastifyInstance } from 'fastify'

const marker = 'until-the-browser-closes'
const isMarked = (cookie = ''): boolean => cookie.split('; ').includes(`${marker}=1`)
/** The cookies of a session, also with `cookies.name`, but for those that are deleted. */
const isOurs = (cookie: string): boolean =>
  /^(?:__Host-)?(?:[\w-]+-)?(?:token|refresh)=[^;]/.test(cookie)
/** Routes that go on as the login began: in a code's body, `remember` means the device. */
const goesOn = /\/(?:refresh|confirm|second-factor|second-factor\/\w+|password\/change)$/

/**
 * A checkbox "remember me": without `remember: true` in the body of the login, the browser deletes the cookies of the
 * session when it closes. Call it on the instance on which the plugin is registered.
 */
export function rememberMe(app: FastifyInstance, login = '/login'): void {
  app.addHook('onSend', async (request, reply) => {
    const { url = '' } = request.routeOptions
    const given = [reply.getHeader('set-cookie') ?? []].flat().map(String)
    // 202: the login asks for a code, and its next step does not know the checkbox.
    const isLogin = ['', '/mail/finish', '/passkey'].some((end) => url === login + end)
    const isFirstStep = isLogin && reply.statusCode === 202
    if (!isFirstStep && !given.some(isOurs)) return
    const isBegin = !goesOn.test(url)
    const { remember } = Object(request.body) as { remember?: unknown }
    const stays = isBegin ? remember === true : !isMarked(request.headers.cookie)
    const cookies = given.map((each) =>
      isOurs(each) && !stays ? each.replace(/; Max-Age=\d+/i, '') : each,
    )
    // A browser may have the marker of an earlier login.
    const value = stays ? '; Max-Age=0' : '1; SameSite=Lax'
    if (isBegin) cookies.push(`${marker}=${value}; Path=/; Secure; HttpOnly`)
    reply.removeHeader('set-cookie').header('set-cookie', cookies)
  })
}
