import { createSession } from 'fastify-authn/browser'
import { useSyncExternalStore } from 'react'

// While a server renders, there is no page, and no user is logged in.
const rendered = { loggedIn: false, changes: 0 }
let state = rendered
const components = new Set<() => void>()

export const session = createSession({
  url: globalThis.location?.origin ?? 'http://localhost',
  onChange({ loggedIn }) {
    state = { loggedIn, changes: state.changes + 1 }
    for (const renderAgain of components) renderAgain()
  },
})
state = { loggedIn: session.loggedIn, changes: 0 }

function subscribe(renderAgain: () => void) {
  components.add(renderAgain)
  return () => components.delete(renderAgain)
}

export const useSession = () =>
  useSyncExternalStore(
    subscribe,
    () => state,
    () => rendered,
  )
