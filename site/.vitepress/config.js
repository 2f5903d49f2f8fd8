import { readFileSync } from 'node:fs'
import { defineConfig } from 'vitepress'
import { entryPoints, otherPages, sections, sourceOf, titles } from '../pages.js'

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

const fromRoot = (file) => readFileSync(new URL(`../../${file}`, import.meta.url), 'utf8')
const { repository, version } = JSON.parse(fromRoot('package.json'))
const released = [...fromRoot('CHANGELOG.md').matchAll(/^## (\d[\w.-]*)$/gm)].map(
  ([, name]) => name,
)

/** "Edit this page" and the documentation of each version, once package.json names the repository. */
const inRepository = (address) => ({
  editLink: { pattern: `${address}/edit/main/:path`, text: 'Edit this page' },
  versions: {
    text: version,
    items: [
      { text: 'Changelog', link: '/changelog' },
      ...released.map((name) => ({ text: name, link: `${address}/tree/v${name}/docs#readme` })),
    ],
  },
})
const address = repository?.url?.replace(/^git\+|\.git$/g, '')
const { editLink, versions } = address === undefined ? {} : inRepository(address)

/** As GitHub makes them, so that a link works in both places. */
const slugify = (text) =>
  text
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
    .replaceAll(' ', '-')

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
  // "Edit this page" opens the file that the page is made of. What is made of code has none, nor a place in the order.
  transformPageData({ relativePath, frontmatter }) {
    const filePath = sourceOf(relativePath)
    return filePath === undefined
      ? { frontmatter: { ...frontmatter, editLink: false, prev: false, next: false } }
      : { filePath }
  },
  markdown: {
    // Pages are written for GitHub: what looks like HTML is text, and so are curly braces.
    html: false,
    anchor: { slugify },
    config(md) {
      const { text, image } = md.renderer.rules
      md.renderer.rules.text = (...given) => text(...given).replaceAll('{{', '&#123;&#123;')
      // Of a diagram, the page shows the one in its own colours: see style.css.
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
    search: {
      provider: 'local',
      options: {
        miniSearch: {
          // Names of the API occur on many of its pages; a guide says more.
          searchOptions: { boostDocument: (page) => (page.includes('/api/') ? 0.3 : 1) },
        },
      },
    },
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
      ...(versions === undefined ? [] : [versions]),
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
