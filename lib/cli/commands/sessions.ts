import { defaults } from '../../options/resolve.js'
import { checkSqlPrefix, sqlSchema } from '../../sessions/stores/sql-schema.js'
import { misuse, exits, type Command, type Given, type Io, type Outcome } from '../command.js'
import { envFileOption, environmentOf } from '../environment.js'
import { storeVariables, withStore } from '../session-store.js'
import { columns, count, didYouMean } from '../text.js'
import { relative } from '../times.js'
import type { SessionStore } from '../../../types/sessions.js'

/** Seconds for which a revocation is kept: longer than any access token should live. */
const revocationTtl = 30 * 86_400

const actions: Readonly<Record<string, (given: Given, io: Io) => Outcome | Promise<Outcome>>> =
  Object.assign(Object.create(null), { schema, list, end })
const names = Object.keys(actions)

/** Prints the tables of the SQL store; shows and ends sessions of a store. */
export const sessions: Command = {
  summary: 'print the tables for sessions; show or end the sessions of a user',
  details: [
    'schema: prints the tables of PostgreSQL. list, end: work with the store that is named by',
    `${Object.keys(storeVariables).join(' or ')}, through the app's ioredis or pg.`,
  ],
  argument: { name: 'action', text: `one of: ${names.join(', ')}`, required: true },
  second: { name: 'sub', text: 'list, end: the user, as in the claim "sub"', required: false },
  options: {
    sid: { value: 'sid', text: 'end: one session, in place of all of a user' },
    prefix: { value: 'prefix', text: 'as it is given to the store in the app' },
    name: { value: 'name', text: 'the option sessions.name of the app; default: default' },
    env: envFileOption,
  },
  examples: [
    'npx fastify-authn sessions schema | psql app',
    'npx fastify-authn sessions list alice --env .env',
    'npx fastify-authn sessions end alice --env .env',
  ],
  exits: ['done', 'there was nothing to end, or the store cannot be reached'],
  run(given, io) {
    const { argument: name = '' } = given
    const action = actions[name]
    if (action !== undefined) return action(given, io)
    return misuse(
      `unknown action.${didYouMean(name, names)}`,
      `The actions are ${names.join(', ')}.`,
    )
  },
}

function schema(given: Given): Outcome {
  if (given.second !== undefined) misuse('found a user, expected none after schema.')
  const prefix = given.text('prefix') ?? defaults.sqlSessions.prefix
  const sql = sqlSchema(checkSqlPrefix(prefix, 'option --prefix'))
  return { lines: [sql], json: { sql } }
}

async function list(given: Given, io: Io): Promise<Outcome> {
  const { second: sub } = given
  if (sub === undefined) return misuse('<sub> is missing: whose sessions?')
  const found = await store(given, io, (each) => each.list(sub))
  const now = Date.now() / 1000
  const rows = found.map(({ sid, created, lastUsed, address, userAgent }): [string, string] => [
    sid,
    `begun ${relative(created, now)}, used ${relative(lastUsed, now)}, ${address} ${userAgent}`,
  ])
  const json = found.map(({ sid, created, lastUsed, endsAt, address, userAgent }) => ({
    sid,
    created: dateOf(created),
    lastUsed: dateOf(lastUsed),
    endsAt: dateOf(endsAt),
    address,
    userAgent,
  }))
  return {
    lines: rows.length > 0 ? columns(rows, 0) : ['No sessions.'],
    json: { sessions: json },
  }
}

async function end(given: Given, io: Io): Promise<Outcome> {
  const { second: sub } = given
  const sid = given.text('sid')
  if ((sub === undefined) === (sid === undefined)) {
    misuse('expected either <sub>, to end all sessions of a user, or --sid, to end one.')
  }
  const which = sid === undefined ? { sub: sub as string } : { sid }
  const ended = await store(given, io, (each) => each.revoke(which, revocationTtl))
  return {
    exit: ended.length > 0 ? exits.done : exits.no,
    lines: [`${count(ended.length, 'session')} ended.`],
    json: { ended: ended.map((each) => each.sid) },
  }
}

async function store<Result>(
  given: Given,
  io: Io,
  work: (store: SessionStore) => Promise<Result>,
): Promise<Result> {
  const where = { prefix: given.text('prefix'), name: given.text('name') ?? defaults.sessions.name }
  return withStore(await environmentOf(given, io), where, work)
}

const dateOf = (seconds: number): string => new Date(seconds * 1000).toISOString()
