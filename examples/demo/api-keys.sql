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
