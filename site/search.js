// What the search of the site knows: VitePress has MiniSearch index each section of each page, and search it in the browser.
import { read } from './pages.js'

const index = 'docs/README.md'
const heading = /<h([1-6])[^>]*>(.*?)<a[^>]* href="#(.*?)"[^>]*>.*?<\/a><\/h\1>/is
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

/** Pages of which only the titles are found: the API, whose guides say the same, and what is not for users. */
const isBrief = (file) =>
  /\/\.pages\/(?:api|bench|test)\/|\/\.pages\/(?:all-pages|changelog|contributing)\.md$/.test(file)

function titleOf(html) {
  const [, , title = '', anchor] = heading.exec(html) ?? []
  return [{ anchor, titles: [textOf(title).trim()], text: '' }]
}

export const localSearch = {
  provider: 'local',
  options: {
    miniSearch: {
      _splitIntoSections: (file, html) => (isBrief(file) ? titleOf(html) : undefined),
      options: {
        // Both run in the browser too, so they can use nothing that stands outside of them.
        tokenize: (text) => text.split(/[\p{Z}\p{P}\p{S}\n\r]+/u),
        // Words that stand on nearly every page tell none of them from the others.
        processTerm: (term) =>
          /^(?:after|all|also|an?|and|another|app|are|as|at|await|be|before|but|by|can|const|do|does|each|for|from|has|have|if|in|is|it|its|new|no|not|of|on|one|only|or|other|own|so|such|that|the|their|them|then|they|this|to|what|when|which|with|without|you|your)$/i.test(
            term,
          )
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
