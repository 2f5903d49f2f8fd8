import { apiKeysSchema } from '../../api-keys/stores/sql.js'
import { sqlSchema } from '../../sessions/stores/sql-schema.js'
import { usersSchema } from '../../users-table/stores/sql-schema.js'
import { schemaCommand } from '../store.js'

const parts = [usersSchema, sqlSchema, apiKeysSchema]

export const schema = schemaCommand(
  'schema',
  'print the SQL of all tables: users, sessions, API keys',
  (prefix) => parts.map((each) => each(prefix)).join('\n\n'),
)
