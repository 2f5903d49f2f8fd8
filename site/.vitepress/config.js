import { defineConfig } from 'vitepress'
import { otherPages, sections, titles } from '../pages.js'

const [first, ...rest] = sections()
const reference = { text: 'API of the package', link: '/api/index.html', target: '_self' }

/** A section of the sidebar. Groups of a section can be closed. */
const sectionOf = ({ title, groups }, before = [], after = []) => ({
  text: title,
  items: [
    ...before,
    ...groups.flatMap((group) =>
      group.title === ''
        ? group.links
        : [{ text: group.title, items: group.links, collapsed: false }],
    ),
    ...after,
  ],
})

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
  markdown: {
    // Pages are written for GitHub: what looks like HTML is text, and so are curly braces.
    html: false,
    anchor: { slugify },
    config(md) {
      const { text } = md.renderer.rules
      md.renderer.rules.text = (...given) => text(...given).replaceAll('{{', '&#123;&#123;')
    },
  },
  themeConfig: {
    logo: '/logo.svg',
    search: { provider: 'local' },
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
      { ...reference, text: 'API' },
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
