-- oldest compatible: 2
CREATE TABLE assistants (
  organization_id text COLLATE "C" PRIMARY KEY REFERENCES organizations (id) ON DELETE CASCADE,
  voice text COLLATE "C" NOT NULL,
  examples text COLLATE "C" NOT NULL,
  includes_private bigint NOT NULL,
  daily_requests bigint NOT NULL,
  daily_bytes bigint NOT NULL,
  day text COLLATE "C" NOT NULL,
  requests bigint NOT NULL,
  bytes bigint NOT NULL
);
CREATE TABLE wordings (
  post_id text COLLATE "C" PRIMARY KEY REFERENCES posts (id) ON DELETE CASCADE,
  organization_id text COLLATE "C" NOT NULL REFERENCES organizations (id) ON DELETE CASCADE,
  status text COLLATE "C" NOT NULL,
  actor_name text COLLATE "C",
  attempts bigint NOT NULL,
  due_at bigint NOT NULL,
  lines text COLLATE "C" NOT NULL,
  error text COLLATE "C",
  asked_at text COLLATE "C" NOT NULL,
  CONSTRAINT wordings_status CHECK (status in ('queued', 'done'))
);
CREATE INDEX wordings_due ON wordings (status, due_at);
ALTER TABLE triggers ADD COLUMN suggests bigint NOT NULL DEFAULT 0;
ALTER TABLE post_suggestions ADD COLUMN rewrites text COLLATE "C";
