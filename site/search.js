// What the search of the site knows: VitePress has MiniSearch index each section of each page, and search it in the browser.
import { read } from './pages.js'

const index = 'docs/README.md'
const heading = /<h([1-6])[^>]*>(.*?)<a[^>]* href="#(.*?)"[^>]*>.*?<\/a><\/h\1>/gis
const textOf = (html) => html.replaceAll(/<[^>]*>/g, '')

/**
 * What docs/README.md says about each page or section, by its path on the site: the line of each link to it.
 *
 * @type {Map<string, string>}
 */
const words = new Map()
for (const line of read(index).split('\n')) {
  for (const [, link] of line.matchAll(/\]\((\w[^)]*\.md[^)]*)\)/g)) {
    const place = `/${link.replace('.md', '.html')}`
    words.set(place, `${words.get(place) ?? ''} ${line.replaceAll(/\]\([^)]*\)/g, ' ')}`)
  }
}

/** Pages of which only the headings are found: the API, whose guides say the same, and what is not for users. */
const isBrief = (file) =>
  /\/\.pages\/(?:api|bench|test)\/|\/\.pages\/(?:all-pages|changelog|contributing)\.md$/.test(file)

function headingsOf(html) {
  let page = ''
  return [...html.matchAll(heading)].map(([, level, title, anchor]) => {
    const name = textOf(title).trim()
    const titles = level === '1' ? [name] : [page, name]
    if (level === '1') page = name
    return { anchor, titles, text: '' }
  })
}

export const localSearch = {
  provider: 'local',
  options: {
    miniSearch: {
      _splitIntoSections: (file, html) => (isBrief(file) ? headingsOf(html) : undefined),
      options: {
        // It runs in the browser too, so it can use nothing that stands outside of it.
        processTerm: (term) =>
          /^(?:an?|and|are|as|at|by|for|from|in|is|it|its|of|on|or|that|the|to|with)$/i.test(term)
            ? null
            : term.toLowerCase(),
        fields: ['title', 'titles', 'text', 'words'],
        // The first section of a page is its heading, which has a link of its own.
        extractField(section, field) {
          if (field !== 'words') return section[field]
          const [page] = section.titles.length === 0 ? section.id.split('#') : [section.id]
          return words.get(page) ?? ''
        },
      },
      searchOptions: {
        boost: { words: 8, title: 4, text: 2, titles: 1 },
        // Names of the API occur on many of its pages; a guide says more. Who comes from another package adds its name.
        boostDocument: (page) =>
          /\/api\/|\/all-pages/.test(page)
            ? 0.3
            : /\/coming-from|\/comparison/.test(page)
              ? 0.6
              : 1,
      },
    },
  },
}
