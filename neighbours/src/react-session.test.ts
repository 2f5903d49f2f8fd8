import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { test } from 'node:test'
import { createElement, useEffect, useState } from 'react'
import { followSession, openPage } from '../page.js'

test('React: components follow the session', async (t) => {
  const page = await openPage()
  const { createRoot } = await import('react-dom/client')
  const { session, useSession } = await import('./react-session.js')
  const Me = () => {
    const [name, setName] = useState('')
    useEffect(() => {
      const load = async () => {
        const response = await session.fetch('/me')
        setName(((await response.json()) as { name: string }).name)
      }
      void load()
    }, [])
    return name
  }
  const Page = () => {
    const { loggedIn, changes } = useSession()
    return loggedIn ? createElement(Me, { key: changes }) : 'Log in.'
  }
  const root = createRoot(page.root)
  root.render(createElement(Page))
  t.after(() => root.unmount())
  await followSession(t, page, session)
})

test('React and Vue: a server renders the page of an anonymous user', () => {
  const program = `
    import { renderToString } from 'react-dom/server'
    import { createElement } from 'react'
    import { useSession } from './src/react-session.ts'
    import { useSession as useVue } from './src/vue-session.ts'
    const Page = () => String(useSession().loggedIn)
    console.log(renderToString(createElement(Page)), useVue().value.loggedIn)`
  const args = ['--import', 'tsx', '--input-type=module', '--eval', program]
  const output = execFileSync(process.execPath, args, { encoding: 'utf8', timeout: 60_000 })
  assert.equal(output, 'false false\n')
})
