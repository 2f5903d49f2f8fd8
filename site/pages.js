// Makes the pages of the site of the Markdown files of the repository, in site/.pages/: those of docs/, the README, and
// what they link to, which may be another Markdown file, a source file or a folder. Nothing is written here that the
// files say themselves; the navigation comes from docs/README.md.
import { cpSync, existsSync, mkdirSync, readFileSync, readdirSync, rmSync, statSync } from 'node:fs'
import { writeFileSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { inScheme } from './diagrams.js'
import { sentenceOf } from './summary.js'

const root = fileURLToPath(new URL('../', import.meta.url))
const out = fileURLToPath(new URL('.pages/', import.meta.url))
const { posix } = path

const index = 'docs/README.md'
/** Pages that have another place on the site than in the repository. */
const places = new Map([
  ['README.md', 'getting-started'],
  [index, 'all-pages'],
])
/** Folders of the repository that code spans may name: the site makes them links. */
const linkedFolders = /^(?:examples|bench)\//
const notPublished = new Set(['node_modules', 'dist', 'keys', 'results', 'api'])

export const read = (file) => readFileSync(path.join(root, file), 'utf8')
const isFolder = (file) => statSync(path.join(root, file)).isDirectory()
const filesIn = (folder) =>
  readdirSync(path.join(root, folder), { withFileTypes: true })
    .filter(({ name }) => !name.startsWith('.') && !notPublished.has(name))
    .toSorted((a, b) => a.name.localeCompare(b.name))

function pagesBelow(folder) {
  return filesIn(folder).flatMap((entry) => {
    const file = `${folder}/${entry.name}`
    if (entry.isDirectory()) return pagesBelow(file)
    return file.endsWith('.md') ? [file] : []
  })
}

/** Where a file or folder of the repository is on the site, without an extension. */
function placeOf(file) {
  const place = places.get(file)
  if (place !== undefined) return place
  if (file.endsWith('.md')) {
    const inDocs = file.replace(/^docs\//, '').replace(/\.md$/, '')
    // README.md, SECURITY.md, …: the page of their folder, or in small letters.
    return inDocs === inDocs.toUpperCase()
      ? inDocs.toLowerCase()
      : inDocs.replace(/README$/, 'index')
  }
  if (isFolder(file)) return `${file}/index`
  return `${posix.dirname(file)}/${posix.basename(file).replaceAll('.', '-')}`.replace(/^\.\//, '')
}

/** Links that do not name a page: they lead out of the site, or into the same page. */
const leadsOut = /^(?:[a-z]+:|#|\/)/

/** Applies a change to the parts of a Markdown text that are not in code blocks. */
function outsideOfCode(markdown, change) {
  return markdown
    .split(/^( *```[^]*?^ *```$)/m)
    .map((part, at) => (at % 2 === 1 ? part : change(part)))
    .join('')
}

/** The text of a page, and the files that it links to. */
function pageOf(file) {
  const links = new Set()
  const linkTo = (target, hash = '') => {
    const folderPage = isFolder(target) ? `${target}/README.md` : target
    const found = existsSync(path.join(root, folderPage)) ? folderPage : target
    links.add(found)
    return `/${placeOf(found)}.md${hash}`
  }
  const text = outsideOfCode(read(file), (part) =>
    part
      // Marks of the tests. What else looks like HTML is shown as it stands.
      .replaceAll(/^<!--.*?-->\n?/gms, '')
      .replaceAll(/(!?)\]\(([^)\s]+)\)/g, (whole, _, link) => {
        if (leadsOut.test(link)) return whole
        const [name, hash] = link.split(/(?=#)/)
        const target = posix.join(posix.dirname(file), name).replace(/\/$/, '')
        if (!existsSync(path.join(root, target))) throw new Error(`${file}: there is no ${link}`)
        if (/\.(?:png|svg|jpe?g|gif)$/.test(target)) return `](/${target.replace(/^docs\//, '')})`
        return `](${linkTo(target, hash)})`
      })
      .replaceAll(/(?<!\[)`([\w./-]+)`/g, (whole, name) => {
        const target = name.replace(/\/$/, '')
        if (!linkedFolders.test(name) || !existsSync(path.join(root, target))) return whole
        return `[${whole}](${linkTo(target)})`
      }),
  )
  return { text, links }
}

/** A source file, as it is. */
function codePage(file) {
  const text = read(file)
  const language = { mjs: 'js', txt: 'text', LICENSE: 'text' }
  const extension = posix.basename(file).split('.').at(-1)
  const longest = Math.max(2, ...[...text.matchAll(/`+/g)].map(([{ length }]) => length))
  const fence = '`'.repeat(longest + 1)
  return [
    frontMatter({ outline: false, search: false, prev: false, next: false, pageClass: 'source' }),
    `# ${file}\n\n${fence}${language[extension] ?? extension}\n${text.trimEnd()}\n${fence}\n`,
  ].join('\n')
}

/** What is in a folder. */
function folderPage(folder) {
  const links = filesIn(folder).map((entry) => `${folder}/${entry.name}`)
  const rows = links.map((file) => `- [${posix.basename(file)}](/${placeOf(file)}.md)`)
  const head = frontMatter({ outline: false, search: false, prev: false, next: false })
  return { text: `${head}\n# ${folder}/\n\n${rows.join('\n')}\n`, links }
}

// JSON is YAML too.
const frontMatter = (values) => `---\n${JSON.stringify(values, null, 2)}\n---\n`

const titleOf = (markdown) => /^# (.*)$/m.exec(markdown)?.[1]

/** `code` and the few other marks that stand in a heading or a link, as HTML, or as plain text. */
const escaped = (text) => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;')
const htmlOf = (text) => escaped(text).replaceAll(/`([^`]*)`/g, '<code>$1</code>')
const plain = (text) => text.replaceAll('`', '').replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1')

/**
 * The sections of docs/README.md: each heading, and its links in groups, which a line of its own names. The links of one
 * line are the parts of one page, below it.
 */
export function sections() {
  const found = []
  let title = ''
  let details = ''
  for (const line of read(index).split('\n')) {
    const heading = /^## (.*)$/.exec(line)?.[1]
    const links = line.startsWith('- ') ? [...line.matchAll(/\[(.*?)\]\((.*?)\)/g)] : []
    if (heading !== undefined) {
      found.push({ title: heading, groups: [] })
      title = details = ''
    } else if (links.length > 0) {
      const groups = found.at(-1).groups
      if (groups.at(-1)?.title !== title) groups.push({ title, details, links: [] })
      const [first, ...next] = links.map(([, words, link], at) => {
        const [name, hash = ''] = link.split(/(?=#)/)
        const file = posix.join(posix.dirname(index), name)
        // A second link of a line stands in a sentence, which is not here.
        const text = at === 0 ? words : (titleOf(read(file)) ?? words)
        return { file, text: htmlOf(text), link: `/${placeOf(file)}${hash}` }
      })
      groups.at(-1).links.push(next.length === 0 ? first : { ...first, items: next })
    } else if (/^[^|].*[^.:]$/.test(line)) {
      // A sentence ends with a full stop, the name of a group does not.
      ;[title, details] = line.replaceAll(/^#+ |\*\*/g, '').split(': ')
    }
  }
  return found.filter(({ groups }) => groups.length > 0)
}

/** What the sidebar shows besides: Markdown files of the repository that are not in docs/. */
export function otherPages() {
  return [...pages().keys()]
    .filter((file) => file.endsWith('.md') && !file.startsWith('docs/') && file !== 'README.md')
    .map((file) => ({ text: htmlOf(titleOf(read(file)) ?? file), link: `/${placeOf(file)}` }))
    .toSorted((a, b) => a.text.localeCompare(b.text))
}

/** The file in the repository of which a page of the site is made, or undefined for those that are made of code. */
export const sourceOf = (page) =>
  [...pages().keys()].find((file) => file.endsWith('.md') && `${placeOf(file)}.md` === page)

/** What apps import: the package, and `fastify-authn/…`. */
export function entryPoints() {
  const { name, exports } = JSON.parse(read('package.json'))
  return Object.keys(exports)
    .filter((path) => !path.endsWith('.json'))
    .map((path) => path.replace('.', name))
}

export const titles = { start: htmlOf('Getting started'), all: titleOf(read(index)) }

const excerptOf = (texts) =>
  texts.length > 5
    ? `${texts.slice(0, 4).join(' · ')} · ${texts.length - 4} more`
    : texts.join(' · ')

/** The first sample of the README, and what it prints. */
const sampleOf = (readme) => /^```ts\n[^]*?^```\n+```text\n[^]*?^```$/m.exec(readme)?.[0] ?? ''

/** What docs/README.md says that an app can add: the rows of its table, each with its first link. */
function featureRow() {
  const [, table = ''] = /^\| What you add .*\n\|.*\n((?:\|.*\n)*)/m.exec(read(index)) ?? []
  return [...table.matchAll(/^\| (.*?) +\|.*?\]\(([^)#]*)(#[^)]*)?\)/gm)].map(
    ([, text, link, hash = '']) => ({
      text: plain(text),
      link: `/${placeOf(posix.join(posix.dirname(index), link))}.html${hash}`,
    }),
  )
}

/** The first page: what the README says first, its sample, and the links of docs/README.md. */
async function homePage(render) {
  const readme = read('README.md')
  const [intro = ''] = readme.replace(/^# .*\n+/, '').split('\n\n')
  const [first = '', ...sentences] = plain(intro.replaceAll('\n', ' ')).split(/(?<=\.) (?=[A-Z])/)
  // Tutorials have a card each, guides and what else there is one for each group.
  const [tutorials, ...others] = sections()
  const cards = [
    ...tutorials.groups.flatMap(({ links }) =>
      links.map(({ file, text, link }) => ({
        title: text,
        details: htmlOf(sentenceOf(read(file))),
        link,
      })),
    ),
    ...others.flatMap((section) =>
      section.groups.map(({ title, details, links }) => ({
        title: title || section.title,
        details: details || excerptOf(links.map(({ text }) => text)),
        link: links[0].link,
      })),
    ),
  ]
  return frontMatter({
    layout: 'home',
    sample: await render(sampleOf(readme)),
    row: featureRow(),
    hero: {
      name: titleOf(readme),
      text: first.replace(/\.$/, ''),
      tagline: sentences.at(-1),
      actions: [
        { theme: 'brand', text: titles.start, link: '/getting-started' },
        { theme: 'alt', text: titles.all, link: '/all-pages' },
      ],
    },
    features: cards,
  })
}

/** All pages by their file in the repository: what docs/ and the README lead to, however far. */
let known
function pages() {
  if (known !== undefined) return known
  known = new Map()
  const waiting = ['README.md', ...pagesBelow('docs')]
  for (let file = waiting.shift(); file !== undefined; file = waiting.shift()) {
    if (known.has(file)) continue
    if (file.endsWith('.md')) {
      const { text, links } = pageOf(file)
      known.set(file, text)
      waiting.push(...links)
    } else if (isFolder(file)) {
      const { text, links } = folderPage(file)
      known.set(file, text)
      waiting.push(...links)
    } else known.set(file, codePage(file))
  }
  return known
}

/**
 * @param {(markdown: string) => Promise<string>} render what makes HTML of Markdown
 * @param {Map<string, string>} drawn the SVG of each diagram
 */
export async function writePages(render, drawn) {
  rmSync(out, { recursive: true, force: true })
  cpSync(path.join(root, 'docs/images'), path.join(out, 'images'), { recursive: true })
  for (const [name, svg] of drawn) {
    for (const scheme of ['light', 'dark'])
      writeFileSync(path.join(out, `images/${name}-${scheme}.svg`), inScheme(svg, scheme))
  }
  cpSync(fileURLToPath(new URL('public', import.meta.url)), path.join(out, 'public'), {
    recursive: true,
  })
  const write = (place, text) => {
    const file = path.join(out, `${place}.md`)
    mkdirSync(path.dirname(file), { recursive: true })
    writeFileSync(file, text)
  }
  write('index', await homePage(render))
  for (const [file, text] of pages()) write(placeOf(file), text)
}
