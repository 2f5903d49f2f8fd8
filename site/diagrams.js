// Draws the diagrams of docs/images/: from each x.mmd (Mermaid) an x.svg for readers on a forge, which follows the colour
// scheme of their screen. The site has each of them in light and in dark.
//
//   node site/diagrams.js          draws them again, in Chromium
import { createHash } from 'node:crypto'
import { readFileSync, readdirSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { findChromium, withChromium } from './chromium.js'

const images = fileURLToPath(new URL('../docs/images/', import.meta.url))
const mermaid = fileURLToPath(
  new URL('node_modules/@mermaid-js/tiny/dist/mermaid.tiny.js', import.meta.url),
)

// Mermaid calculates with colours, so it takes no variables of CSS. It draws with a colour that stands for each of them.
const palette = [
  { name: 'text', drawn: '#010101', light: '#1f2328', dark: '#e6e8eb' },
  { name: 'line', drawn: '#020202', light: '#57606a', dark: '#a4abb3' },
  { name: 'box', drawn: '#030303', light: '#e9f5f0', dark: '#1d2f28' },
  { name: 'border', drawn: '#040404', light: '#0b6e4f', dark: '#5fd3a8' },
  { name: 'note', drawn: '#050505', light: '#fff8e1', dark: '#38331c' },
  { name: 'paper', drawn: '#060606', light: '#ffffff', dark: '#1b1b1f' },
]
const { text, line, box, border, note, paper } = Object.fromEntries(
  palette.map(({ name, drawn }) => [name, drawn]),
)
const config = {
  startOnLoad: false,
  theme: 'base',
  fontFamily: 'system-ui, "DejaVu Sans", sans-serif',
  fontSize: 14,
  themeVariables: {
    fontSize: '14px',
    background: paper,
    actorBkg: box,
    actorBorder: border,
    actorTextColor: text,
    actorLineColor: line,
    signalColor: line,
    signalTextColor: text,
    labelBoxBkgColor: box,
    labelBoxBorderColor: border,
    labelTextColor: text,
    loopTextColor: text,
    noteBkgColor: note,
    noteBorderColor: border,
    noteTextColor: text,
  },
  sequence: {
    mirrorActors: false,
    useMaxWidth: false,
    diagramMarginX: 12,
    actorMargin: 16,
    width: 130,
    height: 44,
    messageMargin: 24,
    boxMargin: 8,
  },
}

const names = readdirSync(images)
  .filter((file) => file.endsWith('.mmd'))
  .map((file) => path.basename(file, '.mmd'))

const digestOf = (source) => createHash('sha256').update(source).digest('hex').slice(0, 16)
const read = (file) => readFileSync(path.join(images, file), 'utf8')

/** Names of the diagrams whose text has changed since their SVG was drawn. */
export const outdated = () =>
  names.filter((name) => !read(`${name}.svg`).includes(digestOf(read(`${name}.mmd`))))

/** The SVG of each diagram, by its name: drawn now, or without Chromium those of the repository. */
export async function diagrams() {
  const chromium = findChromium()
  if (chromium === null) return new Map(names.map((name) => [name, read(`${name}.svg`)]))
  return withChromium(chromium, async (page) => {
    await page.setContent('<!doctype html><title>Diagrams</title><main></main>')
    await page.addScriptTag({ path: mermaid })
    await page.evaluate((config) => globalThis.mermaid.initialize(config), config)
    const drawn = new Map()
    for (const name of names) {
      const source = read(`${name}.mmd`)
      const svg = await page.evaluate(
        async ([id, source]) => (await globalThis.mermaid.render(id, source)).svg,
        [name, source],
      )
      drawn.set(name, coloured(svg, digestOf(source)))
    }
    return drawn
  })
}

/** With variables in place of the colours that Mermaid got, and their values in light and dark. */
function coloured(svg, digest) {
  const variables = (scheme) => palette.map((c) => `--${c.name}:${c[scheme]}`).join(';')
  const style = [
    `:root{${variables('light')}}@media (prefers-color-scheme:dark){:root{${variables('dark')}}}`,
    // Words stand out from the lines that they cross.
    '.messageText,.loopText,.loopText tspan{paint-order:stroke;stroke:var(--paper)!important;stroke-width:5px}',
  ].join('')
  return palette
    .reduce((text, { name, drawn }) => text.replaceAll(drawn, `var(--${name})`), svg)
    .replace(
      /^<svg [^>]*>/,
      (tag) =>
        `${tag}<!-- ${digest} --><style>${style}</style><rect x="-1000" y="-1000" width="5000" height="5000" fill="var(--paper)"/>`,
    )
    .concat('\n')
}

/** The SVG in one of the schemes, `light` or `dark`, whatever the screen. */
export const inScheme = (svg, scheme) =>
  palette.reduce((text, c) => text.replaceAll(`var(--${c.name})`, c[scheme]), svg)

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  if (findChromium() === null) throw new Error('Chromium is missing: set CHROMIUM')
  for (const [name, svg] of await diagrams()) writeFileSync(path.join(images, `${name}.svg`), svg)
}
