// A page: it has the DOM, and no types of Node or Fastify.
import {
  createSession,
  type Confirmed,
  type ConfirmMethod,
  type SessionError,
  type SessionOptions,
  type StepUp,
} from 'fastify-authn/browser'
import { createPasskeys, type PasskeyList } from 'fastify-authn/browser/passkeys'

const options: SessionOptions = { url: 'https://api.shop.example', login: '/auth/login' }
const session = createSession({
  ...options,
  onChange: ({ loggedIn, reason }) => {
    document.body.hidden = !loggedIn && reason === 'logout'
  },
  onStepUp: async ({ mfa, maxAge, methods }: StepUp) => {
    const known: [boolean, number | null] = [mfa, maxAge]
    const isGoogle: boolean = methods.includes('provider:google')
    // @ts-expect-error -- no such method
    void methods.includes('face')
    if (methods.includes('passkey')) await confirm()
    else if (methods.includes('code')) await session.confirm({ code: known.join() })
    else await session.confirm({ password: String(isGoogle) })
    // @ts-expect-error -- it proves nothing
    await session.confirm({})
    // @ts-expect-error -- it is gone
    await session.post('second-factor/confirm', { code: '' })
  },
})
const { confirm } = createPasskeys(session)
const phone = createSession({
  url: 'https://api.shop.example',
  tokens: { get: () => sessionStorage.getItem('x'), set: async (token: string | null) => token },
})

export async function use(form: HTMLFormElement): Promise<string | null> {
  await phone.ready
  const { ok, status, error, body, retryAfter } = await session.logIn(
    Object.fromEntries(new FormData(form)),
  )
  const known: [boolean, number, number | null] = [ok, status, retryAfter]
  // @ts-expect-error -- the body is the server's
  void body.token
  await session.post('sign-up', { email: '' })
  await session.post('sign-up/finish', { token: '', password: '', name: 'Alice' })
  // @ts-expect-error -- no password
  await session.post('password/reset', { token: '' })
  // @ts-expect-error -- no such route
  await session.post('password/rest', { token: '', password: '' })
  const begun = await session.link('google', { returnTo: '/settings' })
  if (begun.ok) location.href = (begun.body as { location: string }).location
  await session.link('google')
  await session.post('login/second-factor', { token: '', code: '', remember: true })
  await session.post('second-factor/setup', {})
  // @ts-expect-error -- no code
  await session.post('second-factor/enable', { token: '' })
  await session.get('second-factor')
  // @ts-expect-error -- no such route
  await session.get('sign-up')
  const { methods, authenticated, mfa } = (await session.get('login/confirm')).body as Confirmed
  const fresh: readonly ConfirmMethod[] = mfa ? methods.mfa : methods.fresh
  void [fresh, authenticated?.length]
  const { isSupported, add, list, logIn, autofill, remove, rename } = createPasskeys(session)
  if (isSupported) await Promise.all([logIn(), autofill(), add(), add('My phone')])
  const { passkeys } = (await list()).body as PasskeyList
  for (const { id, name, lastUsed } of passkeys) await (lastUsed ? rename(id, name) : remove(id))
  const place: string = session.url
  await session.logOut()
  await session.logOut({ everywhere: true })
  const response: Response = await session.fetch(new Request('/me'), { method: 'POST' })
  const isLoggedIn: boolean = (await session.refresh()) && session.loggedIn
  // @ts-expect-error -- only the session changes it
  session.loggedIn = true
  const { fetch } = session
  await fetch('/me').catch(({ status, retryAfter }: SessionError) => [status, retryAfter])
  session.close()
  return `${place}${known.join()}${response.status}${isLoggedIn}${error ?? ''}`
}
