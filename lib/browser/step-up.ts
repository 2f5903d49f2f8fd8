import type { SessionResult, StepUp } from '../../types/browser.js'

export type Ask = (challenge: string) => Promise<unknown>
type Methods = Readonly<Record<string, StepUp['methods'] | undefined>>

/**
 * Has the user confirm that it is them: once for all requests that wait for it.
 * @param show - reads what would be enough @param confirm - calls the app back
 * @returns a function that asks; undefined for a request that the app may be waiting for
 */
export const stepUps = (
  show: () => Promise<SessionResult>,
  confirm?: (needs: StepUp) => Promise<unknown>,
) => {
  /** The challenges of all that wait. */
  let needs = ''
  let asking: Promise<unknown> | '' | undefined
  const ask: Ask = (challenge) => {
    needs += challenge
    return (asking ||= (async () => {
      const body = (await show()).body as { methods?: Methods } | null
      const mfa = /acr_v/.test(needs)
      offered = undefined
      return confirm?.({
        mfa,
        maxAge: Number(/max_age="(\d+)/.exec(needs)?.[1]) || null,
        methods: body?.methods?.[mfa ? 'mfa' : 'fresh'] ?? [],
      })
    })().finally(() => {
      offered = ask
      asking = needs = ''
    }))
  }
  let offered: Ask | undefined = confirm && ask
  return () => offered
}
