import { createSession } from 'fastify-authn/browser'
import { shallowRef } from 'vue'

const state = shallowRef({ loggedIn: false, changes: 0 })

export const session = createSession({
  url: globalThis.location?.origin ?? 'http://localhost',
  onChange({ loggedIn }) {
    state.value = { loggedIn, changes: state.value.changes + 1 }
  },
})
state.value = { loggedIn: session.loggedIn, changes: 0 }

export const useSession = () => state
