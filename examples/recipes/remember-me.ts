import type { FastifyInstance } from 'fastify'

const marker = 'until-the-browser-closes'
const isMarked = (cookie = ''): boolean => cookie.split('; ').includes(`${marker}=1`)

/**
 * A checkbox "remember me": without `remember: true` in the body of the login, the browser deletes the cookies of the
 * session when it closes. Call it on the instance on which the plugin is registered.
 */
export function rememberMe(app: FastifyInstance, login = '/login'): void {
  app.addHook('onSend', async (request, reply) => {
    const { url } = request.routeOptions
    const given = reply.getHeader('set-cookie')
    if (given === undefined || (url !== login && url !== `${login}/refresh`)) return
    const isLogin = url === login
    const { remember } = Object(request.body) as { remember?: unknown }
    if (isLogin ? remember === true : !isMarked(request.headers.cookie)) {
      // A browser may have the marker of an earlier login.
      if (isLogin) reply.header('set-cookie', `${marker}=; Path=/; Max-Age=0; Secure; HttpOnly`)
      return
    }
    const cookies = [given].flat().map((each) => String(each).replace(/; Max-Age=[1-9]\d*/i, ''))
    if (isLogin) cookies.push(`${marker}=1; Path=/; Secure; HttpOnly; SameSite=Lax`)
    reply.removeHeader('set-cookie').header('set-cookie', cookies)
  })
}
