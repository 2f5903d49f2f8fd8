// program: docs
// site/llms.js: llms.txt and llms-full.txt for language models, out of the pages.
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import path from 'node:path'
import t from 'tap'
import { root } from '../helpers/project.js'
import { pages, readPage } from '../helpers/readme.js'

t.test('llms.txt links every page, and llms-full.txt has them all', async (t) => {
  const folder = t.testdir()
  execFileSync(process.execPath, [path.join(root, 'site/llms.js'), folder, 'https://docs.example/'])
  const read = (name: string): string => readFileSync(path.join(folder, name), 'utf8')
  const [index, full] = [read('llms.txt'), read('llms-full.txt')]
  // llmstxt.org: a title, a summary as a quotation, then sections with lists of links.
  t.match(index, /^# fastify-authn\n\n> \S.*\n\n## \S.*\n\n- \[/)
  for (const line of index.split('\n').slice(4)) {
    t.match(line, /^$|^## \S|^- \[[^\]]+\]\(https:\/\/docs\.example\/[\w/-]+\.md\): \S.*[^:]$/)
  }
  const linked = [...index.matchAll(/\]\(https:\/\/docs\.example\/([^)]+)\)/g)].map(
    ([, page]) => page,
  )
  const all = pages().flatMap((page) => /^docs\/(.*\/.*)/.exec(page)?.[1] ?? [])
  t.equal(linked.length, all.length, 'every page of docs/ once')
  t.strictSame(new Set(linked), new Set(all))
  for (const page of all) {
    const [title = ''] = readPage(`docs/${page}`).split('\n')
    t.ok(full.includes(`\n${title}\n`), title)
    t.equal(read(page), readPage(`docs/${page}`), 'the page is beside them')
  }
  t.notMatch(full, /\]\(\.\.?\//, 'no relative links')
})
