-- oldest compatible: 2
CREATE TABLE passkeys (
  id text COLLATE "C" PRIMARY KEY,
  user_id text COLLATE "C" NOT NULL REFERENCES users ON DELETE CASCADE,
  name text COLLATE "C" NOT NULL,
  public_key bytea NOT NULL,
  counter bigint NOT NULL,
  transports text COLLATE "C" NOT NULL,
  created_at text COLLATE "C" NOT NULL,
  last_used_at text COLLATE "C"
);
CREATE INDEX passkeys_by_user ON passkeys (user_id);
CREATE TABLE recovery_codes (
  hash text COLLATE "C" PRIMARY KEY,
  user_id text COLLATE "C" NOT NULL REFERENCES users ON DELETE CASCADE
);
CREATE INDEX recovery_codes_by_user ON recovery_codes (user_id);
ALTER TABLE organizations ADD COLUMN needs_second_factor bigint NOT NULL DEFAULT 0;
ALTER TABLE sessions ADD COLUMN confirmed_at bigint;
