import { Argument, Option } from 'commander'
import { apiKeysApi } from '../../api-keys/api.js'
import { redisApiKeys, sqlApiKeys } from '../../api-keys/index.js'
import { noLimit } from '../../api-keys/key.js'
import { apiKeysSchema } from '../../api-keys/stores/sql.js'
import { apiKeyPrefix } from '../../api-keys/options.js'
import { exits, fail, misuse, type Command } from '../command.js'
import { listOption } from '../environment.js'
import { storeCommand, withStore, type StoreOptions } from '../store.js'
import { count, relative, table } from '../text.js'
import type { ApiKeyInfo, ApiKeys } from '../../../types/api-keys.js'

const kind = { variable: 'AUTH_API_KEYS', redis: redisApiKeys, sql: sqlApiKeys }
const { details, options, schema } = storeCommand(kind, 'api-keys', 'apiKeys.name', apiKeysSchema)

/** Works with the keys of a store. @param keyPrefix - the option `apiKeys.prefix`, to issue keys */
function withKeys<Result>(
  where: StoreOptions,
  work: (keys: ApiKeys) => Promise<Result>,
  keyPrefix = '',
): Promise<Result> {
  return withStore(kind, where, (store) =>
    work(apiKeysApi(keyPrefix, noLimit, { call: (call) => call(store) }, () => undefined)),
  )
}

interface IssueOptions extends StoreOptions {
  readonly keyPrefix: string
  readonly name: string
  readonly scope?: readonly string[]
  readonly expires: string
}

const issue: Command<IssueOptions> = {
  name: 'issue',
  summary: 'make a key and print it; it is not shown again',
  details,
  arguments: [new Argument('<owner>', 'the id of the user or customer who owns the key')],
  options: [
    new Option('--key-prefix <prefix>', 'the option apiKeys.prefix').makeOptionMandatory(),
    new Option('--name <name>', 'what the owner calls the key').makeOptionMandatory(),
    listOption('--scope <scope>', 'a scope of the key, can be repeated; default: none'),
    new Option('--expires <days>', 'such as 90d, or never').makeOptionMandatory(),
    ...options,
  ],
  examples: [
    "npx fastify-authn api-keys issue 7 --prefix shop --key-prefix acme_live --name 'deploy job' --scope notes:read --expires 90d",
  ],
  exits: ['done', 'the store cannot be reached'],
  async run({ keyPrefix, name, scope: scopes = [], expires, ...where }, [owner]) {
    if (!new RegExp(apiKeyPrefix).test(keyPrefix)) {
      misuse(
        '--key-prefix: expected 2 to 20 characters, words of a-z and 0-9 joined by _, a letter first.',
      )
    }
    const days = expires === 'never' ? null : Number(/^(\d{1,5})d$/.exec(expires)?.[1] ?? 0)
    if (days === 0) misuse('--expires: expected days, such as 90d, or never.')
    const expiresAt = days === null ? null : new Date(Date.now() + days * 86_400_000)
    const { key, ...info } = await withKeys(
      where,
      (keys) => keys.issue({ owner: String(owner), name, scopes, expiresAt }),
      keyPrefix,
    )
    const undo = async (): Promise<never> => {
      await withKeys(where, (keys) => keys.revoke(info.id, { owner: null }))
      return fail('the key could not be printed, so it was revoked.')
    }
    return { lines: [key], json: { key, ...info }, aside: [describe(info).join(', ')], undo }
  },
}

const list: Command<StoreOptions> = {
  name: 'list',
  summary: 'list the keys of a user',
  details,
  arguments: [new Argument('<owner>', 'the id of the user')],
  options,
  examples: ['npx fastify-authn api-keys list 7 --prefix shop --env .env'],
  exits: ['done', 'the store cannot be reached'],
  async run(where, [owner]) {
    const keys = await withKeys(where, (all) => all.list(String(owner)))
    return { lines: keys.length > 0 ? table(keys.map(describe)) : ['No API keys.'], json: { keys } }
  },
}

const revoke: Command<StoreOptions & { readonly owner?: string }> = {
  name: 'revoke',
  summary: 'revoke a key, or all keys of a user',
  details,
  arguments: [new Argument('[id]', 'the 16 characters after the prefix of the key')],
  options: [new Option('--owner <owner>', 'all keys of this id'), ...options],
  examples: ['npx fastify-authn api-keys revoke cyciaG17Syqgluv3 --prefix shop --env .env'],
  exits: ['done', 'there was nothing to revoke, or the store cannot be reached'],
  async run({ owner, ...where }, [id]) {
    if ((id === undefined) === (owner === undefined)) {
      misuse('expected either <id>, to revoke one key, or --owner, to revoke all keys of a user.')
    }
    const revoked = await withKeys(where, async (keys) => {
      const ids = owner === undefined ? [String(id)] : (await keys.list(owner)).map((key) => key.id)
      const done = await Promise.all(ids.map((each) => keys.revoke(each, { owner: null })))
      return ids.filter((_, at) => done[at])
    })
    return {
      exit: revoked.length > 0 ? exits.done : exits.no,
      lines: [`${count(revoked.length, 'key')} revoked.`],
      json: { revoked },
    }
  },
}

export const apiKeys: Command = {
  name: 'api-keys',
  summary: 'print the SQL for API keys; issue, list or revoke the keys of a user',
  subcommands: [schema, issue, list, revoke],
  examples: [schema, issue, list, revoke].flatMap(({ examples }) => examples),
  exits: revoke.exits,
}

function describe(key: ApiKeyInfo): string[] {
  const { id, name, scopes, expiresAt, replacedBy } = key
  const about = (what: string, date: Date | null): string[] =>
    date === null ? [] : [`${what} ${relative(date.getTime() / 1000)}`]
  const isOver = expiresAt !== null && expiresAt.getTime() <= Date.now()
  const state = [
    ...about('revoked', key.revokedAt),
    ...about(isOver ? 'expired' : 'expires', expiresAt),
    ...(replacedBy === null ? [] : [`replaced by ${replacedBy}`]),
    ...about('last used', key.lastUsedAt),
  ]
  return [id, name, scopes.join(' ') || 'no scopes', state.join(', ') || 'never used']
}
