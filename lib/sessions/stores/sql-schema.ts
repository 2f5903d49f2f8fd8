/** The tables of the SQL store, for PostgreSQL 13 or later. @param prefix - what their names begin with, checked */
export function sqlSchema(prefix: string): string {
  return `-- The sessions of fastify-authn, for PostgreSQL 13 or later.
CREATE TABLE IF NOT EXISTS ${prefix}_sessions (
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
CREATE INDEX IF NOT EXISTS ${prefix}_sessions_sub ON ${prefix}_sessions USING hash (sub);
CREATE INDEX IF NOT EXISTS ${prefix}_sessions_sweep ON ${prefix}_sessions (sweep_at);

-- Sessions whose successor has to be deleted when the grace has passed.
CREATE TABLE IF NOT EXISTS ${prefix}_graces (
  until          timestamptz NOT NULL,
  registration   text NOT NULL,
  handle         text NOT NULL,
  PRIMARY KEY (until, registration, handle)
);

-- Sessions that were revoked, until the last of their access tokens has expired.
CREATE TABLE IF NOT EXISTS ${prefix}_revocations (
  written_by     xid8 NOT NULL DEFAULT pg_current_xact_id(),
  registration   text NOT NULL,
  sid            text NOT NULL,
  until          timestamptz NOT NULL,
  PRIMARY KEY (written_by, registration, sid)
);

-- When all sessions of a user were revoked, for an hour: a login that had begun before leaves none.
CREATE TABLE IF NOT EXISTS ${prefix}_user_revocations (
  registration   text NOT NULL,
  sub            text NOT NULL,
  revoked_at     timestamptz NOT NULL,
  revoked_by     text NOT NULL,         -- the process that asked for it
  PRIMARY KEY (registration, sub)
);

-- Sessions of logins by e-mail: each of these is one login, whatever becomes of its session.
CREATE TABLE IF NOT EXISTS ${prefix}_used (
  registration   text NOT NULL,
  sid            text NOT NULL,
  until          timestamptz NOT NULL,
  PRIMARY KEY (registration, sid)
);`
}
