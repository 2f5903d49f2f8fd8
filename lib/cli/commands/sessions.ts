import { Argument, Option } from 'commander'
import { defaults } from '../../options/resolve.js'
import { recordOf } from '../../sessions/user-revocations.js'
import { checkSqlPrefix, sqlSchema } from '../../sessions/stores/sql-schema.js'
import { misuse, exits, type Command } from '../command.js'
import { envOption } from '../environment.js'
import { storeVariables, withStore } from '../session-store.js'
import { count, relative, table } from '../text.js'

interface StoreOptions {
  readonly prefix: string
  readonly registration: string
  readonly sid?: string
}

const prefixOption = new Option(
  '--prefix <prefix>',
  'the name of the app, as its store has it',
).makeOptionMandatory()
const registrationOption = new Option(
  '--registration <name>',
  'the option sessions.name of the app',
).default(defaults.sessions.name)
const details = `Works with the store that ${storeVariables.join(' or ')} names, through the ioredis or pg of the app in the current folder.`

const schema: Command<{ prefix: string }> = {
  name: 'schema',
  summary: 'print the tables of PostgreSQL',
  options: [prefixOption],
  examples: ['npx fastify-authn sessions schema --prefix shop | psql app'],
  exits: ['done', 'the prefix is no plain identifier'],
  run({ prefix }) {
    const sql = sqlSchema(checkSqlPrefix(prefix, 'option --prefix', '--prefix shop'))
    return { lines: [sql], json: { sql } }
  },
}

const list: Command<StoreOptions> = {
  name: 'list',
  summary: 'show the sessions of a user',
  details,
  arguments: [new Argument('<sub>', 'the user, as in the claim "sub"')],
  options: [prefixOption, registrationOption, envOption],
  examples: ['npx fastify-authn sessions list alice --prefix shop --env .env'],
  exits: ['done', 'the store cannot be reached'],
  async run(options, [sub]) {
    const found = await withStore(options, (store) => store.list(String(sub)))
    const rows = found.map(({ sid, created, lastUsed, address, userAgent }) => [
      sid,
      `begun ${relative(created)}, used ${relative(lastUsed)}, ${address} ${userAgent}`,
    ])
    const sessions = found.map(({ sid, created, lastUsed, endsAt, address, userAgent }) => ({
      sid,
      created: dateOf(created),
      lastUsed: dateOf(lastUsed),
      endsAt: dateOf(endsAt),
      address,
      userAgent,
    }))
    return { lines: rows.length > 0 ? table(rows) : ['No sessions.'], json: { sessions } }
  },
}

const revoke: Command<StoreOptions> = {
  name: 'revoke',
  summary: 'revoke all sessions of a user, or one',
  details,
  arguments: [new Argument('[sub]', 'the user, as in the claim "sub"')],
  options: [
    new Option('--sid <sid>', 'one session, in place of all of a user'),
    prefixOption,
    registrationOption,
    envOption,
  ],
  examples: ['npx fastify-authn sessions revoke alice --prefix shop --env .env'],
  exits: ['done', 'there was nothing to revoke, or the store cannot be reached'],
  async run({ sid, ...where }, [sub]) {
    if ((sub === undefined) === (sid === undefined)) {
      misuse('expected either <sub>, to revoke all sessions of a user, or --sid, to revoke one.')
    }
    const which = sid === undefined ? { sub: String(sub) } : { sid }
    const revoked = await withStore(where, async (store) => {
      if (sub !== undefined) await store.create(recordOf(sub, 'command line'))
      return store.revoke(which, 0)
    })
    return {
      exit: revoked.length > 0 ? exits.done : exits.no,
      lines: [`${count(revoked.length, 'session')} revoked.`],
      json: { revoked: revoked.map((each) => each.sid) },
    }
  },
}

/** Prints the tables of the SQL store; shows and revokes sessions of a store. */
export const sessions: Command = {
  name: 'sessions',
  summary: 'print the tables for sessions; show or revoke the sessions of a user',
  subcommands: [schema, list, revoke],
  examples: [...schema.examples, ...list.examples, ...revoke.examples],
  exits: ['done', 'there was nothing to revoke, or the store cannot be reached'],
}

const dateOf = (seconds: number): string => new Date(seconds * 1000).toISOString()
