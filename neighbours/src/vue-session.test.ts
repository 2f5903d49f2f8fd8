import { test } from 'node:test'
import { followSession, openPage } from '../page.js'

test('Vue: components follow the session', async (t) => {
  const page = await openPage()
  const { createApp, defineComponent, h, onMounted, ref } = await import('vue')
  const { session, useSession } = await import('./vue-session.js')
  const Me = defineComponent(() => {
    const name = ref('')
    onMounted(async () => {
      const response = await session.fetch('/me')
      name.value = ((await response.json()) as { name: string }).name
    })
    return () => name.value
  })
  const Page = defineComponent(() => {
    const state = useSession()
    return () => (state.value.loggedIn ? h(Me, { key: state.value.changes }) : 'Log in.')
  })
  const app = createApp(Page)
  app.mount(page.root)
  t.after(() => app.unmount())
  await followSession(t, page, session)
})
