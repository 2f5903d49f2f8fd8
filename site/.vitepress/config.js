import { deflateRawSync } from 'node:zlib'
import { defineConfig } from 'vitepress'
import { entryPoints, otherPages, read, sections, sourceOf, titles } from '../pages.js'
import { localSearch } from '../search.js'

const [first, ...rest] = sections()
const reference = {
  text: 'API of the package',
  link: '/api/',
  items: entryPoints().map((name) => ({ text: name, link: `/api/${name}/` })),
  collapsed: true,
}

/** A section of the sidebar. Its groups are closed, but for that of the page. */
const sectionOf = ({ title, groups }, before = [], after = []) => ({
  text: title,
  items: [
    ...before,
    ...groups.flatMap((group) =>
      group.title === ''
        ? group.links
        : [{ text: group.title, items: group.links, collapsed: true }],
    ),
    ...after,
  ],
})

const { repository, version } = JSON.parse(read('package.json'))
// Both need the address of the repository.
const address = repository?.url?.replace(/^git\+|\.git$/g, '')
const editLink = address && { pattern: `${address}/edit/main/:path`, text: 'Edit this page' }
const released = [...read('CHANGELOG.md').matchAll(/^## (\d[\w.-]*)$/gm)].map(([, name]) => name)
const versions = address && {
  text: version,
  items: [
    { text: 'Changelog', link: '/changelog' },
    ...released.map((name) => ({ text: name, link: `${address}/tree/v${name}/docs#readme` })),
  ],
}

/** Gives the cells of tables the names of their columns, and marks words of code, which must not break. */
function labelCells(tokens) {
  let labels = []
  let column = 0
  for (const [at, { type }] of tokens.entries()) {
    if (type === 'table_open') labels = []
    if (type === 'tr_open') column = 0
    if (type !== 'th_open' && type !== 'td_open') continue
    const content = tokens[at + 1]
    if (type === 'th_open') labels.push(content.content.replaceAll('`', ''))
    else {
      tokens[at].attrSet('data-label', labels[column] ?? '')
      column++
      for (const child of content.children ?? [])
        if (child.type === 'code_inline' && !child.content.includes(' '))
          child.attrSet('class', 'word')
    }
  }
}

/** As GitHub makes them, so that a link works in both places. */
const slugify = (text) =>
  text
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
    .replaceAll(' ', '-')

/**
 * Packs the index of the search, because not every server of files compresses: VitePress makes `@localSearchIndexroot`,
 * whose default is the index as JSON, and `@localSearchIndex`, which imports it.
 */
const packedIndex = {
  name: 'packed-index',
  enforce: 'post',
  apply: 'build',
  async transform(code, id) {
    if (id === '/@localSearchIndexroot') {
      const { default: json } = await import(`data:text/javascript,${encodeURIComponent(code)}`)
      const source = deflateRawSync(json, { level: 9 })
      const file = this.emitFile({ type: 'asset', name: 'search-index.bin', source })
      return `export default import.meta.ROLLUP_FILE_URL_${file}`
    }
    if (id !== '/@localSearchIndex') return null
    return `
      import url from '@localSearchIndexroot'
      async function unpack() {
        const { ok, status, body } = await fetch(url)
        if (!ok) throw new Error('The index of the search: ' + status)
        const stream = body.pipeThrough(new DecompressionStream('deflate-raw'))
        return { default: await new Response(stream).text() }
      }
      let unpacked
      export default {
        root() {
          unpacked ??= unpack()
          unpacked.catch(() => (unpacked = undefined))
          return unpacked
        },
      }`
  },
}

export default defineConfig({
  lang: 'en',
  title: 'fastify-authn',
  description: 'Authentication for Fastify 5',
  // Below a path of its host, as in SITE_BASE=/fastify-authn/
  base: process.env.SITE_BASE ?? '/',
  srcDir: '.pages',
  outDir: 'dist',
  cacheDir: '.cache',
  head: [['link', { rel: 'icon', href: `${process.env.SITE_BASE ?? '/'}logo.svg` }]],
  metaChunk: true,
  // On a slow line, the pages of all links in sight would come before the index of the search.
  router: { prefetchLinks: false },
  vite: { plugins: [packedIndex] },
  // "Edit this page" opens the Markdown file of the page. Pages made of code have none, and no previous and next page.
  transformPageData({ relativePath, frontmatter }) {
    const filePath = sourceOf(relativePath)
    return filePath === undefined
      ? { frontmatter: { ...frontmatter, editLink: false, prev: false, next: false } }
      : { filePath }
  },
  markdown: {
    // Pages are written for GitHub: what looks like HTML is text, and so are curly braces.
    html: false,
    // Those of VitePress have less contrast than WCAG asks for.
    theme: { light: 'github-light-high-contrast', dark: 'github-dark-high-contrast' },
    anchor: { slugify },
    config(md) {
      const { text, image } = md.renderer.rules
      md.core.ruler.push('cells', ({ tokens }) => labelCells(tokens))
      md.renderer.rules.text = (...given) => text(...given).replaceAll('{{', '&#123;&#123;')
      // Of each diagram, style.css shows the picture in the colours of the page.
      md.renderer.rules.image = (tokens, at, ...given) => {
        const link = tokens[at].attrGet('src')
        if (!link.endsWith('.svg')) return image(tokens, at, ...given)
        const pictures = ['light', 'dark'].map((scheme) => {
          tokens[at].attrSet('src', link.replace('.svg', `-${scheme}.svg`))
          tokens[at].attrSet('class', `in-${scheme}`)
          return image(tokens, at, ...given)
        })
        return `<span class="diagram" tabindex="0">${pictures.join('')}</span>`
      }
    },
  },
  themeConfig: {
    logo: '/logo.svg',
    editLink,
    search: localSearch,
    outline: [2, 3],
    externalLinkIcon: true,
    docFooter: { prev: 'Previous', next: 'Next' },
    nav: [
      { text: titles.start, link: '/getting-started' },
      ...[first, ...rest]
        .filter((section) => section !== undefined)
        .map(({ title, groups }) => ({
          text: title,
          link: groups[0].links[0].link,
          activeMatch: `^/${groups[0].links[0].link.split('/')[1]}/`,
        })),
      { text: 'API', link: reference.link, activeMatch: '^/api/' },
      ...(versions ? [versions] : []),
    ],
    sidebar: [
      {
        text: '',
        items: [
          { text: titles.start, link: '/getting-started' },
          { text: titles.all, link: '/all-pages' },
        ],
      },
      ...[first, ...rest]
        .filter((section) => section !== undefined)
        .map((section) => sectionOf(section, [], section.title === 'Reference' ? [reference] : [])),
      { text: 'Project', items: otherPages() },
    ],
  },
})
