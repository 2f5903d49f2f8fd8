import t from 'tap'
import type { AuthUser } from '../../lib/index.js'
import { appWith, bearer, logLines, secret, users } from '../helpers/app.js'

const hash = users[0]?.password ?? ''

class Account {
  readonly #roles = new Set(['editor'])
  get roles(): ReadonlySet<string> {
    return this.#roles
  }
}

t.test('roles count if they are an array or Set of strings, and role if it is one', async (t) => {
  const rows: [title: string, user: AuthUser, status: number, found?: string][] = [
    ['a list', { roles: ['author', 'editor'] }, 200],
    ['a getter of a class', new Account(), 200],
    ['a Set', { roles: new Set(['editor']) }, 200],
    ['a Set in a class with a hash', Object.assign(new Account(), { password: hash }), 200],
    ['an empty Set', { roles: new Set() }, 403],
    ['a string', { roles: 'editor' }, 403, 'string'],
    ['one role', { role: 'editor' }, 200],
    ['no roles beside a role', { roles: [], role: 'editor' }, 403],
    ['null beside a role', { roles: null, role: 'editor' }, 403, 'null'],
    ['undefined beside a role', { roles: undefined, role: 'editor' }, 200],
    ['a list with null', { roles: ['editor', null] }, 403, 'array with object'],
    ['a Set with a number', { roles: new Set(['editor', 1]) }, 403, 'set with number'],
    ['an object', { roles: { editor: true } }, 403, 'object'],
    ['a Map', { roles: new Map([['editor', true]]) }, 403, 'map'],
    ['objects', { roles: [{ name: 'editor' }] }, 403, 'array with object'],
    ['a list as the one role', { role: ['editor'] }, 403, 'array'],
    ['no field', {}, 403],
  ]
  for (const [title, user, status, found] of rows) {
    const { lines, stream } = logLines()
    const app = await appWith(
      t,
      { userService: { findByUsername: () => user }, jwt: { secret } },
      (app) => app.get('/', { config: { auth: { role: 'editor' } } }, () => 'in'),
      { logger: { level: 'warn', stream } },
    )
    const headers = bearer(app.jwtService.generateToken('alice'))
    for (const _ of [1, 2])
      t.equal((await app.inject({ url: '/', headers })).statusCode, status, title)
    // Once a minute.
    t.strictSame(
      lines.map((line) => line.found),
      found === undefined ? [] : [found],
      title,
    )
  }
})
