/** The tables of the SQL store, for PostgreSQL 13 or later. @param prefix - what their names begin with, checked */
export function usersSchema(prefix: string): string {
  const users = `${prefix}_users`
  const identities = `${prefix}_identities`
  const passkeys = `${prefix}_passkeys`
  return `-- The users of fastify-authn, for PostgreSQL 13 or later. The app may add columns: ALTER TABLE ${users} ADD …
CREATE TABLE IF NOT EXISTS ${users} (
  id             uuid PRIMARY KEY,      -- the claim sub of tokens; tables of the app may refer to it
  email          text COLLATE "C" UNIQUE CHECK (email = lower(email)),
  password       text,                  -- a hash
  name           text,
  roles          text[] NOT NULL DEFAULT '{}',
  second_factor  text,                  -- encrypted by the key of the option secondFactor
  disabled_at    timestamptz,
  created_at     timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX IF NOT EXISTS ${users}_created ON ${users} (created_at, id);
-- Lists of users who are disabled, or are not.
CREATE INDEX IF NOT EXISTS ${users}_state ON ${users} (num_nulls(disabled_at), created_at, id);
CREATE INDEX IF NOT EXISTS ${users}_state_email ON ${users} (num_nulls(disabled_at), email);

-- The accounts of users at providers.
CREATE TABLE IF NOT EXISTS ${identities} (
  issuer         text NOT NULL,
  subject        text NOT NULL,         -- the claim sub of the issuer
  provider       text NOT NULL,         -- its name in the option loginWith
  user_id        uuid NOT NULL REFERENCES ${users} ON DELETE CASCADE,
  created        timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (issuer, subject)
);
CREATE INDEX IF NOT EXISTS ${identities}_user ON ${identities} (user_id);

CREATE TABLE IF NOT EXISTS ${passkeys} (
  id             text PRIMARY KEY,      -- the credential ID
  user_id        uuid NOT NULL REFERENCES ${users} ON DELETE CASCADE,
  data           jsonb NOT NULL,        -- nothing of it is secret
  created        timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX IF NOT EXISTS ${passkeys}_user ON ${passkeys} (user_id);`
}
