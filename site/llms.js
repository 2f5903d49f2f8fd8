// Makes llms.txt (llmstxt.org), llms-full.txt and a copy of the pages out of docs/: node site/llms.js FOLDER [ADDRESS]
import { cpSync, readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { sentenceOf, summaryOf } from './summary.js'

const [folder = 'site/dist', address = '/'] = process.argv.slice(2)
const root = path.join(import.meta.dirname, '..')
const read = (file) => readFileSync(path.join(root, file), 'utf8')

function withAddresses(file, page) {
  return page.replaceAll(/\[([^\]]*)\]\((?!https?:|#)([^)]*)\)/g, (_, label, link) => {
    const target = path.posix.join(file, '..', link)
    return target.startsWith('docs/') ? `[${label}](${address}${target.slice(5)})` : label
  })
}

const readme = read('README.md')
const full = [withAddresses('README.md', readme)]
let [index, heading, section] = [`# fastify-authn\n\n> ${summaryOf(readme)}\n`, '', '']
for (const line of read('docs/README.md').split('\n')) {
  if (line.startsWith('## ')) section = heading = line
  else if (/^[A-Z][^.]*[^.:]$/.test(line)) section = `${heading}: ${line.split(': ')[0]}`
  if (line.startsWith('|')) continue
  for (const [, page] of line.matchAll(/\]\((\w[^)#]*\.md)\)/g)) {
    const text = read(`docs/${page}`)
    if (!index.includes(`\n${section}\n`)) index += `\n${section}\n\n`
    const title = text.slice(2, text.indexOf('\n'))
    index += `- [${title}](${address}${page}): ${sentenceOf(text).replace(/:$/, '.')}\n`
    full.push(withAddresses(`docs/${page}`, text))
  }
}
cpSync(`${root}/docs`, folder, { recursive: true, filter: (file) => !file.includes('/docs/api') })
writeFileSync(path.join(folder, 'llms.txt'), index)
writeFileSync(path.join(folder, 'llms-full.txt'), full.join('\n'))
