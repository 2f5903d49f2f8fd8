import { Argument, Option } from 'commander'
import { redisSessions, sqlSessions } from '../../sessions/index.js'
import { sqlSchema } from '../../sessions/stores/sql-schema.js'
import { misuse, exits, type Command } from '../command.js'
import { storeCommand, withStore, type StoreOptions } from '../store.js'
import { count, relative, table } from '../text.js'

const kind = { variable: 'AUTH_SESSIONS', redis: redisSessions, sql: sqlSessions }
const { details, options, schema } = storeCommand(kind, 'sessions', 'sessions.name', sqlSchema)

const list: Command<StoreOptions> = {
  name: 'list',
  summary: 'list the sessions of a user',
  details,
  arguments: [new Argument('<sub>', 'the user, as in the claim "sub"')],
  options,
  examples: ['npx fastify-authn sessions list alice --prefix shop --env .env'],
  exits: ['done', 'the store cannot be reached'],
  async run(where, [sub]) {
    const found = await withStore(kind, where, (store) => store.list(String(sub)))
    const rows = found.map(({ sid, created, lastUsed, address, userAgent }) => [
      sid,
      `begun ${relative(created)}, used ${relative(lastUsed)}, ${address} ${userAgent}`,
    ])
    const sessions = found.map(({ sid, created, lastUsed, endsAt, address, userAgent }) => {
      const dates = { created: dateOf(created), lastUsed: dateOf(lastUsed), endsAt: dateOf(endsAt) }
      return { sid, ...dates, address, userAgent }
    })
    return { lines: rows.length > 0 ? table(rows) : ['No sessions.'], json: { sessions } }
  },
}

const revoke: Command<StoreOptions & { readonly sid?: string }> = {
  name: 'revoke',
  summary: 'revoke all sessions of a user, or one',
  details,
  arguments: [new Argument('[sub]', 'the user, as in the claim "sub"')],
  options: [
    new Option('--sid <sid>', 'one session, instead of all sessions of a user'),
    ...options,
  ],
  examples: ['npx fastify-authn sessions revoke alice --prefix shop --env .env'],
  exits: ['done', 'there was nothing to revoke, or the store cannot be reached'],
  async run({ sid, ...where }, [sub]) {
    if ((sub === undefined) === (sid === undefined)) {
      misuse('expected either <sub>, to revoke all sessions of a user, or --sid, to revoke one.')
    }
    const which = sid === undefined ? { sub: String(sub) } : { sid }
    const revoked = await withStore(kind, where, (store) => store.revoke(which, 0, 'command line'))
    return {
      exit: revoked.length > 0 ? exits.done : exits.no,
      lines: [`${count(revoked.length, 'session')} revoked.`],
      aside: [
        `This is the registration ${JSON.stringify(where.registration)} alone. If the app has several, revoke in each: --registration <name> is its "sessions.name".`,
      ],
      json: { revoked: revoked.map((each) => each.sid) },
    }
  },
}

export const sessions: Command = {
  name: 'sessions',
  summary: 'print the SQL for sessions; list or revoke the sessions of a user',
  subcommands: [schema, list, revoke],
  examples: [...schema.examples, ...list.examples, ...revoke.examples],
  exits: revoke.exits,
}

const dateOf = (seconds: number): string => new Date(seconds * 1000).toISOString()
