import { existsSync } from 'node:fs'
import { readFile, readdir } from 'node:fs/promises'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import type { FastifyInstance } from 'fastify'
import { Marked } from 'marked'

/** Nothing runs in these pages. */
const headers = {
  'content-security-policy':
    "default-src 'none'; style-src 'self'; img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  'x-content-type-options': 'nosniff',
}
const pictures = /\.png$/

/** The documentation of the package, for people who try the demo: Markdown files of the project, as HTML. */
export async function docPages(app: FastifyInstance): Promise<void> {
  const root = projectFolder()
  // Read from this list alone: what a client asks for is never part of a path.
  const files = new Set(await filesOf(root))
  // Left out of the API document.
  const schema = { hide: true }
  app.get('/', { schema }, (_request, reply) => reply.redirect('/pages/docs/README.md'))
  app.get<{ Params: { '*': string } }>('/*', { schema }, async ({ params }, reply) => {
    const file = params['*']
    if (!files.has(file)) return reply.callNotFound()
    const content = await readFile(path.join(root, file))
    void reply.headers(headers)
    if (pictures.test(file)) return reply.type('image/png').send(content)
    return reply.type('text/html; charset=utf-8').send(pageOf(file, content.toString(), files))
  })
}

/** The folder above this one in which docs/ is: the demo also runs compiled, from deeper below. */
function projectFolder(): string {
  let folder = path.dirname(fileURLToPath(import.meta.url))
  while (!existsSync(path.join(folder, 'docs/README.md'))) {
    const above = path.dirname(folder)
    if (above === folder) throw new Error('There is no folder docs/ above the demo.')
    folder = above
  }
  return folder
}

async function filesOf(root: string): Promise<string[]> {
  const docs = await readdir(path.join(root, 'docs'), { recursive: true })
  const files = docs.map((file) => `docs/${file.replaceAll('\\', '/')}`)
  const pages = files.filter((file) => file.endsWith('.md') || pictures.test(file))
  return [...pages, 'README.md', 'SECURITY.md', 'CHANGELOG.md']
}

function pageOf(file: string, markdown: string, files: ReadonlySet<string>): string {
  const marked = new Marked({
    renderer: {
      // Anchors as GitHub makes them.
      heading(text, level, raw) {
        const words = raw.toLowerCase().replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
        return `<h${level} id="${words.replaceAll(' ', '-')}">${text}</h${level}>\n`
      },
      // A link to a source file leads nowhere here.
      link(href, _title, text) {
        const [name = ''] = href.split('#')
        const target = path.posix.join(path.posix.dirname(file), name)
        const leads = name === '' || /^https?:/.test(href) || files.has(target)
        return leads ? `<a href="${href}">${text}</a>` : text
      },
      html: () => '',
    },
  })
  const title = /^# (.*)$/m.exec(markdown)?.[1] ?? file
  return `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8" />
    <meta name="viewport" content="width=device-width, initial-scale=1" />
    <title>${title.replaceAll('`', '')}</title>
    <link rel="icon" href="data:," />
    <link rel="stylesheet" href="/app/page.css" />
  </head>
  <body>
    <header class="bar">
      <a class="brand" href="/app/">fastify-authn <span>demo</span></a>
      <nav><a href="/docs">API explorer</a> <a href="/pages/">Documentation</a></nav>
    </header>
    <main class="doc">
${marked.parse(markdown) as string}    </main>
  </body>
</html>
`
}
