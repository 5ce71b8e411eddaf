-- oldest compatible: 2
CREATE TABLE identities (
  issuer text COLLATE "C" NOT NULL,
  subject text COLLATE "C" NOT NULL,
  user_id text COLLATE "C" NOT NULL REFERENCES users ON DELETE CASCADE,
  name text COLLATE "C" NOT NULL,
  created_at text COLLATE "C" NOT NULL,
  PRIMARY KEY (issuer, subject)
);
CREATE INDEX identities_by_user ON identities (user_id);
CREATE TABLE provider_sessions (
  hash text COLLATE "C" PRIMARY KEY REFERENCES sessions ON DELETE CASCADE,
  issuer text COLLATE "C" NOT NULL,
  subject text COLLATE "C" NOT NULL,
  sid text COLLATE "C",
  id_token bytea
);
CREATE INDEX provider_sessions_by_subject ON provider_sessions (issuer, subject);
ALTER TABLE memberships ADD COLUMN by_rule bigint NOT NULL DEFAULT 0;
