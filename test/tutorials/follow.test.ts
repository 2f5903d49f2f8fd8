// What the pages of tutorials may say, and that what is wrong is found.
import t from 'tap'
import { follow } from '../helpers/tutorial.js'

const block = (language: string, ...lines: string[]): string =>
  ['```' + language, ...lines, '```', ''].join('\n')
const server = "require('http').createServer((q, r) => r.end('served')).listen(process.env.PORT)"

const right = [
  block('sh', 'mkdir app && cd app', 'npm init -y', 'npm install fastify-authn@latest fastify'),
  'Create `src/app.js`, which prints:',
  block('js', 'function print() {', "  console.log('one')", '}', 'print()'),
  "Add this to `src/app.js`, below `log('one'`:",
  block('js', "console.log(typeof require('fastify-authn'))"),
  block('sh', 'export WORD=three', 'node src/app.js; echo two $WORD'),
  block('text', 'one', '…', 'two thr…'),
  block('sh', 'npx fastify-authn --version'),
  block('sh', `echo '{"a":["one"],"b":2}'`),
  block('json', '{ "b": 2, "a": ["o…"] }'),
  'Start it, and leave it running:',
  block('sh', `node -e "${server}; console.log('at http://127.0.0.1:3000')"`),
  block('text', 'at http://127.0.0.1:3000'),
  block('sh', 'node -e "fetch(\'http://127.0.0.1:3000\').then((r) => console.log(r.status))"'),
  block('text', '200'),
  'Stop it with Ctrl-C:',
  block('sh', "node -e \"fetch('http://127.0.0.1:3000').catch(() => console.log('gone'))\""),
  block('text', 'gone'),
  '<!-- not run -->',
  block('nginx', 'listen 443;'),
].join('\n')

const wrong: Record<string, string> = {
  'a command': block('sh', 'npm run nothing', 'true'),
  'other output': block('sh', 'echo a') + block('text', 'b'),
  'more output': block('sh', 'echo a; echo b') + block('text', 'a'),
  'other JSON': block('sh', `echo '{"a":1,"b":2}'`) + block('json', '{ "a": 1 }'),
  'a package': block('sh', 'npm install no-such-package-of-ours'),
  'an anchor': 'Add this to `src/app.js`, above `print`:\n' + block('js', '//'),
  'a server': 'Leave it running:\n' + block('sh', 'echo a') + block('text', 'b'),
  'output of nothing': block('text', 'a'),
  'a language': block('yaml', 'a: 1'),
  'a comment': '<!-- run -->\n' + block('sh', 'true'),
  'a proxy': '<!-- run with nginx -->\n' + block('nginx', 'listen 443;'),
}

t.test('a tutorial that is right passes, and each wrong one fails', async (t) => {
  const failed: string[] = []
  const fail = (where: string): boolean => failed.push(where) > 0
  const teardown = t.teardown.bind(t)
  const pages = { ...wrong, right }
  const comments: string[] = []
  const comment = (...words: unknown[]): void => void comments.push(words.join(' '))
  const reader = await follow({ pass: () => true, fail, comment, teardown }, ['right'], { pages })
  t.strictSame(failed, [])
  for (const page of Object.keys(wrong)) await reader.follow([page])
  const found = failed.map((where) => where.split(':')[0])
  t.strictSame(found, Object.keys(wrong))
  t.strictSame(
    comments.map((text) => text.replace(/\d+ s$/, '… s')),
    ['right', ...Object.keys(wrong)].map((page) => `${page}: … s`),
  )
})
