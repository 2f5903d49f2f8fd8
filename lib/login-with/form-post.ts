import type { Work } from '../http/plugin-route.js'
import { invalid } from './request.js'
import type { Routes } from './provider.js'

/** What the callback gets of a form. A `user` with more characters than this, as an address has them, would not fit into it. */
const [fields, longestUser] = ['code state iss error user'.split(' '), 2048]

/**
 * Redirects the form of a provider (OAuth 2.0 Form Post Response Mode §2) to the callback, which checks everything. Browsers
 * send `Lax` cookies with that redirect, but not with the POST of another site, so this route knows no login.
 */
export const formPost =
  ({ provider, redirectUri }: Routes): Work =>
  (request, reply) => {
    const form = new URLSearchParams(typeof request.body === 'string' ? request.body : '')
    if (new Set(form.keys()).size < form.size) throw invalid('a parameter of the form repeats')
    const sent = [...form].filter(
      ([name, value]) =>
        fields.includes(name) &&
        (name !== 'user' || encodeURIComponent(value.toWellFormed()).length <= longestUser),
    )
    const isGiven = provider.options.redirectUri !== undefined
    // A header takes ASCII alone, and the path of the app may have other letters.
    const { href, pathname } = new URL(redirectUri(request))
    const callback = isGiven ? href : pathname
    const separator = callback.includes('?') ? '&' : '?'
    return reply.redirect(`${callback}${separator}${new URLSearchParams(sent).toString()}`, 303)
  }
