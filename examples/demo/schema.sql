-- The users of fastify-authn, for PostgreSQL 13 or later. The app may add columns: ALTER TABLE demo_users ADD …
CREATE TABLE IF NOT EXISTS demo_users (
  id             uuid PRIMARY KEY,      -- the claim sub of tokens; tables of the app may refer to it
  email          text COLLATE "C" UNIQUE CHECK (email = lower(email)),
  password       text,                  -- a hash
  name           text,
  roles          text[] NOT NULL DEFAULT '{}',
  second_factor  text,                  -- encrypted by the key of the option secondFactor
  disabled_at    timestamptz,
  created_at     timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX IF NOT EXISTS demo_users_created ON demo_users (created_at, id);
-- Lists of users who are disabled, or are not.
CREATE INDEX IF NOT EXISTS demo_users_state ON demo_users (num_nulls(disabled_at), created_at, id);
CREATE INDEX IF NOT EXISTS demo_users_state_email ON demo_users (num_nulls(disabled_at), email);

-- The accounts of users at providers.
CREATE TABLE IF NOT EXISTS demo_identities (
  issuer         text NOT NULL,
  subject        text NOT NULL,         -- the claim sub of the issuer
  provider       text NOT NULL,         -- its name in the option loginWith
  user_id        uuid NOT NULL REFERENCES demo_users ON DELETE CASCADE,
  created        timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (issuer, subject)
);
CREATE INDEX IF NOT EXISTS demo_identities_user ON demo_identities (user_id);

CREATE TABLE IF NOT EXISTS demo_passkeys (
  id             text PRIMARY KEY,      -- the credential ID
  user_id        uuid NOT NULL REFERENCES demo_users ON DELETE CASCADE,
  data           jsonb NOT NULL,        -- nothing of it is secret
  created        timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX IF NOT EXISTS demo_passkeys_user ON demo_passkeys (user_id);

-- The sessions of fastify-authn, for PostgreSQL 13 or later.
CREATE TABLE IF NOT EXISTS demo_sessions (
  registration   text NOT NULL,         -- the name of the plugin's registration
  handle         text NOT NULL,         -- SHA-256 of what the refresh tokens of the session share
  sid            text NOT NULL,         -- the claim sid of its access tokens
  sub            text NOT NULL,         -- the claim sub: whose session it is
  current_token  text NOT NULL,         -- SHA-256 of the refresh token
  previous_token text,                  -- SHA-256 of the one before it
  sealed         text,                  -- the refresh token, encrypted under the one before it, during the grace
  grace_until    timestamptz,
  created_at     timestamptz NOT NULL,
  last_used_at   timestamptz NOT NULL,
  ends_at        timestamptz NOT NULL,  -- however often it is used
  expires_at     timestamptz NOT NULL,  -- unless it is used
  sweep_at       timestamptz NOT NULL,  -- when it is looked at next, whether it has expired; see below
  revocation_ttl float8 NOT NULL,       -- seconds for which its revocation is kept at least
  address        text NOT NULL,
  user_agent     text NOT NULL,
  data           text NOT NULL,
  PRIMARY KEY (registration, handle),
  UNIQUE (registration, sid)
) WITH (fillfactor = 80);
-- A refresh changes no column of an index, so that PostgreSQL can write it in place (a HOT update).
CREATE INDEX IF NOT EXISTS demo_sessions_sub ON demo_sessions USING hash (sub);
CREATE INDEX IF NOT EXISTS demo_sessions_sweep ON demo_sessions (sweep_at);

-- Sessions whose successor has to be deleted when the grace has passed.
CREATE TABLE IF NOT EXISTS demo_graces (
  until          timestamptz NOT NULL,
  registration   text NOT NULL,
  handle         text NOT NULL,
  PRIMARY KEY (until, registration, handle)
);

-- Sessions that were revoked, until the last of their access tokens has expired.
CREATE TABLE IF NOT EXISTS demo_revocations (
  written_by     xid8 NOT NULL DEFAULT pg_current_xact_id(),
  registration   text NOT NULL,
  sid            text NOT NULL,
  until          timestamptz NOT NULL,
  PRIMARY KEY (written_by, registration, sid)
);

-- When all sessions of a user were revoked, for an hour: a login that had begun before leaves none.
CREATE TABLE IF NOT EXISTS demo_user_revocations (
  registration   text NOT NULL,
  sub            text NOT NULL,
  revoked_at     timestamptz NOT NULL,
  revoked_by     text NOT NULL,         -- the process that asked for it
  PRIMARY KEY (registration, sub)
);

-- Sessions of logins by e-mail: each of these is one login, whatever becomes of its session.
CREATE TABLE IF NOT EXISTS demo_used (
  registration   text NOT NULL,
  sid            text NOT NULL,
  until          timestamptz NOT NULL,
  PRIMARY KEY (registration, sid)
);

-- The API keys of fastify-authn, for PostgreSQL 13 or later.
CREATE TABLE IF NOT EXISTS demo_api_keys (
  registration   text NOT NULL,         -- the option apiKeys.name
  id             text NOT NULL,         -- the part of the key after its prefix, which is no secret
  digest         text NOT NULL,         -- SHA-256 of the key
  owner          text NOT NULL,
  owner_type     text NOT NULL,         -- string or number: how the user lookup gets the owner
  name           text NOT NULL,         -- what the owner calls the key
  scopes         text NOT NULL,         -- separated by spaces
  created_at     timestamptz NOT NULL,
  expires_at     timestamptz,
  last_used_at   timestamptz,           -- without an index, so that PostgreSQL writes it in place (a HOT update)
  revoked_at     timestamptz,
  replaced_by    text,                  -- the id of its successor
  PRIMARY KEY (registration, id)
) WITH (fillfactor = 90);
CREATE INDEX IF NOT EXISTS demo_api_keys_owner ON demo_api_keys (registration, owner);
-- Keys are deleted 30 days after they have expired or were revoked.
CREATE INDEX IF NOT EXISTS demo_api_keys_over ON demo_api_keys (least(expires_at, revoked_at))
  WHERE least(expires_at, revoked_at) IS NOT NULL;
-- Counts the valid keys of an owner. A statement that has waited for a lock does not see what was committed meanwhile,
-- but the functions that it then calls do.
CREATE OR REPLACE FUNCTION demo_api_keys_valid(text, text, timestamptz) RETURNS bigint LANGUAGE sql VOLATILE AS $$
  SELECT count(*) FROM demo_api_keys WHERE registration = $1 AND owner = $2
    AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > $3)
$$;
