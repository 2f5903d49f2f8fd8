import t from 'tap'
import { printTable } from '../../lib/app/table.js'
import type { AuthnRoute } from '../../types/routes.js'

/** A route that is open because it has no mark. */
function row(url: string, more: Partial<AuthnRoute> = {}): AuthnRoute {
  return {
    methods: ['GET'],
    url,
    constraints: {},
    mode: false,
    scope: null,
    role: null,
    authenticators: [],
    source: 'none',
    sourcePrefix: null,
    registration: '/',
    isAutomaticHead: false,
    isLogin: false,
    ...more,
  }
}

const allMethods = ['DELETE', 'GET', 'HEAD', 'POST']
const linesOf = (...rows: AuthnRoute[]): string[] => printTable(rows, allMethods).split('\n')

t.test('columns are aligned, and no line ends with blanks', async (t) => {
  t.strictSame(
    linesOf(
      row('/'),
      row('/long/url', {
        scope: null,
        role: null,
        mode: true,
        authenticators: ['jwt', 'basic'],
        source: 'route',
      }),
      row('/x', { mode: 'optional', authenticators: ['jwt'], source: 'scope', sourcePrefix: '' }),
      row('/y', { mode: 'try', authenticators: ['a'], source: 'plugin', sourcePrefix: '/y' }),
    ),
    [
      'METHOD  URL        ACCESS    NEEDS  AUTHENTICATORS  MARK',
      'GET     /          open      -      -               none',
      'GET     /long/url  required  -      jwt, basic      route',
      'GET     /x         optional  -      jwt             scope',
      'GET     /y         try       -      a               plugin /y',
      '',
    ],
  )
  t.equal(
    printTable([], allMethods),
    'METHOD  URL  ACCESS  NEEDS  AUTHENTICATORS  MARK\n',
    'no routes',
  )
})

t.test('several registrations are shown in a column of their own', async (t) => {
  t.strictSame(linesOf(row('/'), row('/x', { registration: '/x' })), [
    'METHOD  URL  ACCESS  NEEDS  AUTHENTICATORS  MARK  REGISTRATION',
    'GET     /    open    -      -               none  /',
    'GET     /x   open    -      -               none  /x',
    '',
  ])
})

t.test('control characters of a URL are escaped', async (t) => {
  const [line, ...rest] = linesOf(row('/a\n\u001b[2J\u202e\u007f\ud800é')).slice(1)
  t.match(line, '/a\\u{a}\\u{1b}[2J\\u{202e}\\u{7f}\\u{d800}é ')
  t.strictSame(rest, [''])
})
