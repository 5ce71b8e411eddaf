-- The schema for PostgreSQL 15 and newer. Tables, columns, indexes and constraints have the names of the SQLite
-- migrations. Booleans are 0 or 1. Text cannot hold U+0000: it is stored as U+FDD0 U+FDD1, and U+FDD0 itself as
-- U+FDD0 U+FDD2 (see db/postgres/nul.ts).

-- One row: the number of applied migrations, the oldest version that works with them, and the key that encrypts secrets.
CREATE TABLE tidings (
  schema bigint NOT NULL,
  oldest_compatible bigint NOT NULL,
  key_fingerprint bigint
);
INSERT INTO tidings (schema, oldest_compatible) VALUES (0, 0);

CREATE TABLE audit_events (
  id bigint PRIMARY KEY,
  organization_id text COLLATE "C",
  action text COLLATE "C" NOT NULL,
  actor_type text COLLATE "C" NOT NULL,
  actor_id text COLLATE "C",
  actor_name text COLLATE "C",
  address text COLLATE "C",
  target_type text COLLATE "C",
  target_id text COLLATE "C",
  summary text COLLATE "C" NOT NULL,
  count bigint NOT NULL,
  created_at text COLLATE "C" NOT NULL,
  expires_at bigint NOT NULL,
  CONSTRAINT audit_events_actor_type CHECK (actor_type in ('user', 'command_line', 'server', 'trigger', 'anonymous'))
);
CREATE INDEX audit_events_by_organization ON audit_events (organization_id);
CREATE INDEX audit_events_by_account ON audit_events (target_id) WHERE organization_id is null;
CREATE INDEX audit_events_by_refusal ON audit_events (created_at) WHERE action = 'sign_in.refused';
CREATE INDEX audit_events_by_expiry ON audit_events (expires_at);

CREATE TABLE deliveries (
  id text COLLATE "C" PRIMARY KEY,
  organization_id text COLLATE "C" NOT NULL,
  integration_id text COLLATE "C" NOT NULL,
  integration_type text COLLATE "C" NOT NULL,
  repository_id text COLLATE "C",
  title text COLLATE "C" NOT NULL,
  status text COLLATE "C" NOT NULL,
  status_code bigint NOT NULL,
  reference_id text COLLATE "C",
  event text COLLATE "C",
  action text COLLATE "C",
  data text COLLATE "C",
  headers text COLLATE "C",
  reason text COLLATE "C",
  count bigint NOT NULL,
  body_hash bytea,
  same_body_as text COLLATE "C",
  replay_of text COLLATE "C",
  is_polled bigint NOT NULL DEFAULT 0,
  duration_ms bigint NOT NULL,
  retention_days bigint NOT NULL,
  created_at text COLLATE "C" NOT NULL,
  expires_at bigint NOT NULL,
  CONSTRAINT deliveries_status CHECK (status in ('processed', 'ignored', 'duplicate', 'rejected', 'failed'))
);
CREATE INDEX deliveries_by_organization ON deliveries (organization_id, created_at, id, status, event, integration_type, is_polled);
CREATE INDEX deliveries_by_reference ON deliveries (reference_id, integration_id);
CREATE INDEX deliveries_by_body ON deliveries (integration_id, body_hash) WHERE body_hash is not null;
CREATE INDEX deliveries_by_expiry ON deliveries (expires_at);
CREATE INDEX deliveries_by_problem ON deliveries (organization_id, status, created_at, id, integration_id, event, integration_type) WHERE status <> 'processed';
CREATE INDEX deliveries_by_integration ON deliveries (integration_id, created_at, id, status, event, is_polled);

CREATE TABLE delivery_counts (
  organization_id text COLLATE "C" NOT NULL,
  integration_id text COLLATE "C" NOT NULL,
  day text COLLATE "C" NOT NULL,
  status text COLLATE "C" NOT NULL,
  shard bigint NOT NULL,
  entries bigint NOT NULL,
  arrivals bigint NOT NULL,
  PRIMARY KEY (organization_id, integration_id, day, status, shard)
);

CREATE TABLE delivery_claims (
  integration_id text COLLATE "C" NOT NULL,
  delivery_id text COLLATE "C" NOT NULL,
  expires_at bigint NOT NULL,
  PRIMARY KEY (integration_id, delivery_id)
);
CREATE INDEX delivery_claims_by_expiry ON delivery_claims (expires_at);

CREATE TABLE organizations (
  id text COLLATE "C" PRIMARY KEY,
  name text COLLATE "C" NOT NULL,
  plan text COLLATE "C" NOT NULL,
  created_at text COLLATE "C" NOT NULL,
  deleted_at text COLLATE "C",
  CONSTRAINT organizations_plan CHECK (plan in ('free', 'pro'))
);

CREATE TABLE post_counts (
  organization_id text COLLATE "C" NOT NULL,
  status text COLLATE "C" NOT NULL,
  content_type text COLLATE "C" NOT NULL,
  count bigint NOT NULL,
  version text COLLATE "C" NOT NULL,
  PRIMARY KEY (organization_id, status, content_type)
);

CREATE TABLE posts (
  id text COLLATE "C" PRIMARY KEY,
  organization_id text COLLATE "C" NOT NULL REFERENCES organizations ON DELETE CASCADE,
  status text COLLATE "C" NOT NULL,
  content_type text COLLATE "C" NOT NULL,
  created_at text COLLATE "C" NOT NULL,
  updated_at text COLLATE "C" NOT NULL,
  title text COLLATE "C" NOT NULL,
  content text COLLATE "C" NOT NULL,
  markdown text COLLATE "C" NOT NULL,
  source_metadata text COLLATE "C",
  is_date_set bigint NOT NULL DEFAULT 1,
  search_words text COLLATE "C",
  is_public bigint NOT NULL DEFAULT 0,
  CONSTRAINT posts_status CHECK (status in ('draft', 'published')),
  CONSTRAINT posts_created_at CHECK (length(created_at) = 24),
  CONSTRAINT posts_updated_at CHECK (length(updated_at) = 24)
);
CREATE INDEX posts_by_date ON posts (organization_id, created_at, id);
CREATE INDEX posts_by_status ON posts (organization_id, status, created_at, id);
CREATE INDEX posts_by_type ON posts (organization_id, content_type, created_at, id);
CREATE INDEX posts_by_status_and_type ON posts (organization_id, status, content_type, created_at, id);

CREATE TABLE attention (
  id text COLLATE "C" PRIMARY KEY,
  organization_id text COLLATE "C" REFERENCES organizations ON DELETE CASCADE,
  kind text COLLATE "C" NOT NULL,
  subject text COLLATE "C" NOT NULL,
  since text COLLATE "C" NOT NULL,
  count bigint NOT NULL,
  message text COLLATE "C" NOT NULL,
  effect text COLLATE "C" NOT NULL,
  action text COLLATE "C" NOT NULL,
  path text COLLATE "C",
  muted_until text COLLATE "C"
);

CREATE TABLE server_runs (
  id text COLLATE "C" PRIMARY KEY,
  public_url text COLLATE "C" NOT NULL,
  started_at text COLLATE "C" NOT NULL,
  alive_at text COLLATE "C" NOT NULL,
  process text COLLATE "C"
);

CREATE TABLE users (
  id text COLLATE "C" PRIMARY KEY,
  email text COLLATE "C" NOT NULL,
  password_hash text COLLATE "C",
  created_at text COLLATE "C" NOT NULL,
  disabled_at text COLLATE "C"
);
CREATE UNIQUE INDEX users_email_unique ON users (email);

CREATE TABLE api_keys (
  id text COLLATE "C" PRIMARY KEY,
  organization_id text COLLATE "C" NOT NULL REFERENCES organizations ON DELETE CASCADE,
  name text COLLATE "C" NOT NULL,
  hash bytea NOT NULL,
  prefix text COLLATE "C" NOT NULL,
  permissions text COLLATE "C" NOT NULL,
  created_at text COLLATE "C" NOT NULL,
  expires_at text COLLATE "C",
  revoked_at text COLLATE "C",
  last_used_at text COLLATE "C"
);
CREATE UNIQUE INDEX api_keys_hash_unique ON api_keys (hash);
CREATE INDEX api_keys_by_organization ON api_keys (organization_id, created_at);

CREATE TABLE integrations (
  id text COLLATE "C" PRIMARY KEY,
  organization_id text COLLATE "C" NOT NULL REFERENCES organizations ON DELETE CASCADE,
  type text COLLATE "C" NOT NULL,
  enabled bigint NOT NULL,
  secret bytea NOT NULL,
  previous_secret bytea,
  previous_secret_until text COLLATE "C",
  token bytea,
  is_polled bigint NOT NULL DEFAULT 0,
  created_at text COLLATE "C" NOT NULL
);
CREATE INDEX integrations_by_organization ON integrations (organization_id, created_at);

CREATE TABLE memberships (
  user_id text COLLATE "C" NOT NULL REFERENCES users ON DELETE CASCADE,
  organization_id text COLLATE "C" NOT NULL REFERENCES organizations ON DELETE CASCADE,
  role text COLLATE "C" NOT NULL,
  created_at text COLLATE "C" NOT NULL,
  PRIMARY KEY (user_id, organization_id),
  CONSTRAINT memberships_role CHECK (role in ('owner', 'member'))
);

CREATE TABLE one_time_links (
  hash text COLLATE "C" PRIMARY KEY,
  purpose text COLLATE "C" NOT NULL,
  user_id text COLLATE "C" REFERENCES users ON DELETE CASCADE,
  organization_id text COLLATE "C" REFERENCES organizations ON DELETE CASCADE,
  role text COLLATE "C",
  created_at text COLLATE "C" NOT NULL,
  expires_at bigint NOT NULL,
  CONSTRAINT one_time_links_purpose CHECK (purpose in ('setup', 'invitation', 'password'))
);

CREATE TABLE repositories (
  id text COLLATE "C" PRIMARY KEY,
  integration_id text COLLATE "C" NOT NULL REFERENCES integrations ON DELETE CASCADE,
  full_name text COLLATE "C" NOT NULL,
  provider_id bigint,
  created_at text COLLATE "C" NOT NULL
);
CREATE UNIQUE INDEX repositories_by_provider_id ON repositories (integration_id, provider_id);

CREATE TABLE sessions (
  hash text COLLATE "C" PRIMARY KEY,
  user_id text COLLATE "C" NOT NULL REFERENCES users ON DELETE CASCADE,
  created_at text COLLATE "C" NOT NULL,
  expires_at bigint NOT NULL,
  last_used_at bigint NOT NULL DEFAULT 0,
  address text COLLATE "C",
  user_agent text COLLATE "C"
);

CREATE TABLE triggers (
  id text COLLATE "C" PRIMARY KEY,
  integration_id text COLLATE "C" NOT NULL REFERENCES integrations ON DELETE CASCADE,
  repository_id text COLLATE "C" REFERENCES repositories ON DELETE CASCADE,
  event text COLLATE "C" NOT NULL,
  rule text COLLATE "C" NOT NULL,
  filters text COLLATE "C" NOT NULL,
  content_type text COLLATE "C" NOT NULL,
  title_template text COLLATE "C",
  body_template text COLLATE "C",
  publish bigint NOT NULL,
  enabled bigint NOT NULL,
  created_at text COLLATE "C" NOT NULL,
  updated_at text COLLATE "C" NOT NULL
);
-- A hash has room for a rule of any length, unlike a unique index. For writes it is the same.
ALTER TABLE triggers ADD CONSTRAINT triggers_rule_unique EXCLUDE USING hash (rule WITH =);
CREATE INDEX triggers_by_integration ON triggers (integration_id);

CREATE TABLE drafts (
  trigger_id text COLLATE "C" NOT NULL REFERENCES triggers ON DELETE CASCADE,
  scope text COLLATE "C" NOT NULL,
  subject text COLLATE "C" NOT NULL,
  post_id text COLLATE "C" NOT NULL,
  written_hash text COLLATE "C" NOT NULL,
  event_keys text COLLATE "C" NOT NULL,
  until text COLLATE "C" NOT NULL,
  suggestion text COLLATE "C",
  suggested_at text COLLATE "C",
  dismissed_hash text COLLATE "C",
  source text COLLATE "C",
  left_out text COLLATE "C" NOT NULL,
  PRIMARY KEY (trigger_id, scope, subject)
);
CREATE INDEX drafts_by_subject ON drafts (trigger_id, subject);
CREATE INDEX drafts_by_post ON drafts (post_id);
CREATE INDEX drafts_with_suggestion ON drafts (post_id) WHERE suggestion is not null;

-- `is_prerelease` is read from JSON without its escapes, because PostgreSQL refuses those of lone surrogates.
CREATE TABLE events (
  integration_id text COLLATE "C" NOT NULL REFERENCES integrations ON DELETE CASCADE,
  repository_id text COLLATE "C" NOT NULL,
  type text COLLATE "C" NOT NULL,
  key text COLLATE "C" NOT NULL,
  release_id text COLLATE "C",
  branch text COLLATE "C",
  occurred_at text COLLATE "C" NOT NULL,
  version text COLLATE "C" NOT NULL,
  repository text COLLATE "C",
  delivery_id text COLLATE "C" NOT NULL,
  is_prerelease bigint GENERATED ALWAYS AS (
    CASE replace(replace(data, '\\', ''), '\u', '')::json ->> 'isPrerelease' WHEN 'true' THEN 1 WHEN 'false' THEN 0 END
  ) STORED,
  data text COLLATE "C" NOT NULL,
  PRIMARY KEY (integration_id, repository_id, type, key)
);
CREATE INDEX events_by_time ON events (integration_id, repository_id, type, occurred_at);
CREATE INDEX releases_by_branch ON events (integration_id, repository_id, branch, occurred_at, key)
  WHERE type = 'release';
CREATE UNIQUE INDEX releases_by_id ON events (integration_id, repository_id, release_id) WHERE release_id IS NOT NULL;

CREATE TABLE hooks (
  integration_id text COLLATE "C" NOT NULL REFERENCES integrations ON DELETE CASCADE,
  place_id text COLLATE "C" NOT NULL,
  place_name text COLLATE "C" NOT NULL,
  repository_id text COLLATE "C" REFERENCES repositories ON DELETE CASCADE,
  remote_id text COLLATE "C",
  events text COLLATE "C" NOT NULL,
  has_present_secret bigint NOT NULL,
  problem text COLLATE "C",
  retry_at bigint,
  attempts bigint NOT NULL,
  known_until text COLLATE "C",
  recover_at bigint,
  recovery text COLLATE "C",
  created_at text COLLATE "C" NOT NULL,
  PRIMARY KEY (integration_id, place_id)
);

CREATE TABLE polls (
  repository_id text COLLATE "C" PRIMARY KEY REFERENCES repositories ON DELETE CASCADE,
  integration_id text COLLATE "C" NOT NULL REFERENCES integrations ON DELETE CASCADE,
  cursor text COLLATE "C",
  due_at bigint NOT NULL,
  polled_at text COLLATE "C",
  problem text COLLATE "C",
  attempts bigint NOT NULL
);

CREATE TABLE histories (
  id text COLLATE "C" PRIMARY KEY,
  integration_id text COLLATE "C" NOT NULL REFERENCES integrations ON DELETE CASCADE,
  repository_id text COLLATE "C" NOT NULL REFERENCES repositories ON DELETE CASCADE,
  trigger_id text COLLATE "C" NOT NULL,
  since text COLLATE "C",
  releases bigint,
  publish bigint NOT NULL,
  status text COLLATE "C" NOT NULL,
  cursor text COLLATE "C",
  found bigint NOT NULL,
  read bigint NOT NULL,
  problem text COLLATE "C",
  due_at bigint NOT NULL,
  attempts bigint NOT NULL,
  created_at text COLLATE "C" NOT NULL,
  ended_at text COLLATE "C",
  CONSTRAINT histories_status CHECK (status in ('queued', 'done', 'failed', 'stopped'))
);

CREATE TABLE release_ranges (
  integration_id text COLLATE "C" NOT NULL REFERENCES integrations ON DELETE CASCADE,
  repository_id text COLLATE "C" NOT NULL,
  tag text COLLATE "C" NOT NULL,
  previous_tag text COLLATE "C",
  commits text COLLATE "C",
  status text COLLATE "C" NOT NULL,
  due_at bigint NOT NULL,
  attempts bigint NOT NULL,
  problem text COLLATE "C",
  created_at text COLLATE "C" NOT NULL,
  PRIMARY KEY (integration_id, repository_id, tag),
  CONSTRAINT release_ranges_status CHECK (status in ('queued', 'known', 'unknown'))
);
CREATE INDEX release_ranges_due ON release_ranges (due_at) WHERE status = 'queued';

CREATE TABLE github_apps (
  integration_id text COLLATE "C" PRIMARY KEY REFERENCES integrations ON DELETE CASCADE,
  app_id bigint NOT NULL,
  slug text COLLATE "C" NOT NULL,
  url text COLLATE "C" NOT NULL,
  private_key bytea NOT NULL,
  installation_id bigint,
  suspended_at text COLLATE "C",
  created_at text COLLATE "C" NOT NULL
);

CREATE TABLE token_states (
  integration_id text COLLATE "C" PRIMARY KEY REFERENCES integrations ON DELETE CASCADE,
  expires_at text COLLATE "C",
  problem text COLLATE "C",
  problem_since text COLLATE "C",
  due_at bigint NOT NULL
);

CREATE TABLE silences (
  integration_id text COLLATE "C" NOT NULL REFERENCES integrations ON DELETE CASCADE,
  repository_id text COLLATE "C" NOT NULL,
  since text COLLATE "C",
  is_proven bigint NOT NULL,
  due_at bigint NOT NULL,
  PRIMARY KEY (integration_id, repository_id)
);

CREATE TABLE trigger_events (
  trigger_id text COLLATE "C" NOT NULL REFERENCES triggers ON DELETE CASCADE,
  repository_id text COLLATE "C" NOT NULL,
  type text COLLATE "C" NOT NULL,
  key text COLLATE "C" NOT NULL,
  is_match bigint NOT NULL,
  draft_only bigint NOT NULL,
  publish bigint NOT NULL DEFAULT 0,
  PRIMARY KEY (trigger_id, repository_id, type, key)
);

CREATE TABLE trigger_runs (
  trigger_id text COLLATE "C" NOT NULL REFERENCES triggers ON DELETE CASCADE,
  scope text COLLATE "C" NOT NULL,
  since text COLLATE "C" NOT NULL,
  revision bigint NOT NULL,
  status text COLLATE "C" NOT NULL,
  attempts bigint NOT NULL,
  due_at bigint NOT NULL,
  delivery_id text COLLATE "C" NOT NULL,
  error text COLLATE "C",
  queued_at text COLLATE "C" NOT NULL,
  PRIMARY KEY (trigger_id, scope),
  CONSTRAINT trigger_runs_status CHECK (status in ('queued', 'failed'))
);
CREATE INDEX trigger_runs_due ON trigger_runs (status, attempts, due_at);

CREATE TABLE roundups (
  id text COLLATE "C" PRIMARY KEY,
  organization_id text COLLATE "C" NOT NULL REFERENCES organizations ON DELETE CASCADE,
  name text COLLATE "C" NOT NULL,
  cadence text COLLATE "C" NOT NULL,
  weekday bigint NOT NULL,
  time text COLLATE "C" NOT NULL,
  time_zone text COLLATE "C" NOT NULL,
  starts_on text COLLATE "C" NOT NULL,
  group_by text COLLATE "C" NOT NULL,
  when_empty text COLLATE "C" NOT NULL,
  content_type text COLLATE "C" NOT NULL,
  enabled bigint NOT NULL,
  next_at bigint NOT NULL,
  created_at text COLLATE "C" NOT NULL,
  updated_at text COLLATE "C" NOT NULL,
  CONSTRAINT roundups_cadence CHECK (cadence in ('weekly', 'biweekly', 'monthly')),
  CONSTRAINT roundups_group_by CHECK (group_by in ('repository', 'kind')),
  CONSTRAINT roundups_when_empty CHECK (when_empty in ('skip', 'line'))
);
CREATE INDEX roundups_by_organization ON roundups (organization_id, created_at);
CREATE INDEX roundups_due ON roundups (next_at);

CREATE TABLE roundup_sources (
  roundup_id text COLLATE "C" NOT NULL REFERENCES roundups ON DELETE CASCADE,
  position bigint NOT NULL,
  integration_id text COLLATE "C" NOT NULL REFERENCES integrations ON DELETE CASCADE,
  repository_id text COLLATE "C" REFERENCES repositories ON DELETE CASCADE,
  team text COLLATE "C",
  PRIMARY KEY (roundup_id, position)
);
CREATE INDEX roundup_sources_by_integration ON roundup_sources (integration_id);

CREATE TABLE roundup_changes (
  roundup_id text COLLATE "C" NOT NULL REFERENCES roundups ON DELETE CASCADE,
  key text COLLATE "C" NOT NULL,
  integration_id text COLLATE "C" NOT NULL,
  repository_id text COLLATE "C" NOT NULL,
  event text COLLATE "C" NOT NULL,
  claimed_at text COLLATE "C" NOT NULL,
  post_id text COLLATE "C",
  PRIMARY KEY (roundup_id, key)
);
CREATE INDEX roundup_changes_pending ON roundup_changes (roundup_id, claimed_at, event, key) WHERE post_id is null;

CREATE TABLE roundup_posts (
  post_id text COLLATE "C" PRIMARY KEY,
  roundup_id text COLLATE "C" NOT NULL REFERENCES roundups ON DELETE CASCADE,
  made_at text COLLATE "C" NOT NULL,
  left_out text COLLATE "C" NOT NULL
);
CREATE INDEX roundup_posts_by_time ON roundup_posts (roundup_id, made_at);

CREATE TABLE delivery_results (
  delivery_id text COLLATE "C" NOT NULL,
  trigger_id text COLLATE "C" NOT NULL,
  scope text COLLATE "C" NOT NULL,
  event_key text COLLATE "C" NOT NULL,
  outcome text COLLATE "C" NOT NULL,
  post_id text COLLATE "C",
  error text COLLATE "C",
  updated_at text COLLATE "C" NOT NULL,
  expires_at bigint NOT NULL,
  PRIMARY KEY (delivery_id, trigger_id),
  CONSTRAINT delivery_results_outcome CHECK (outcome in ('queued', 'created', 'updated', 'unchanged', 'suggested', 'kept', 'removed', 'waiting', 'filtered', 'failed'))
);
CREATE INDEX delivery_results_unsettled ON delivery_results (trigger_id, scope) WHERE outcome in ('queued', 'failed', 'waiting');
CREATE INDEX delivery_results_by_expiry ON delivery_results (expires_at);

CREATE TABLE media (
  id text COLLATE "C" PRIMARY KEY,
  organization_id text COLLATE "C" NOT NULL REFERENCES organizations ON DELETE CASCADE,
  sha256 bytea NOT NULL,
  type text COLLATE "C" NOT NULL,
  bytes bigint NOT NULL,
  width bigint NOT NULL,
  height bigint NOT NULL,
  name text COLLATE "C" NOT NULL,
  alt text COLLATE "C" NOT NULL,
  actor_name text COLLATE "C",
  created_at text COLLATE "C" NOT NULL,
  CONSTRAINT media_type CHECK (type in ('image/png', 'image/jpeg', 'image/gif', 'image/webp', 'image/avif'))
);
CREATE UNIQUE INDEX media_by_content ON media (organization_id, sha256);

CREATE TABLE media_copies (
  integration_id text COLLATE "C" NOT NULL,
  url text COLLATE "C" NOT NULL,
  organization_id text COLLATE "C" NOT NULL REFERENCES organizations ON DELETE CASCADE,
  status text COLLATE "C" NOT NULL,
  media_id text COLLATE "C" REFERENCES media ON DELETE SET NULL,
  attempts bigint NOT NULL,
  due_at bigint NOT NULL,
  error text COLLATE "C",
  created_at text COLLATE "C" NOT NULL,
  PRIMARY KEY (integration_id, url),
  CONSTRAINT media_copies_status CHECK (status in ('queued', 'done', 'failed'))
);
CREATE INDEX media_copies_due ON media_copies (status, due_at);

CREATE TABLE deleted_posts (
  id text COLLATE "C" PRIMARY KEY,
  organization_id text COLLATE "C" NOT NULL REFERENCES organizations ON DELETE CASCADE,
  status text COLLATE "C" NOT NULL,
  content_type text COLLATE "C" NOT NULL,
  created_at text COLLATE "C" NOT NULL,
  updated_at text COLLATE "C" NOT NULL,
  title text COLLATE "C" NOT NULL,
  content text COLLATE "C" NOT NULL,
  markdown text COLLATE "C" NOT NULL,
  source_metadata text COLLATE "C",
  is_date_set bigint NOT NULL DEFAULT 1,
  deleted_at text COLLATE "C" NOT NULL,
  actor_name text COLLATE "C",
  expires_at bigint NOT NULL,
  CONSTRAINT deleted_posts_status CHECK (status in ('draft', 'published')),
  CONSTRAINT deleted_posts_created_at CHECK (length(created_at) = 24),
  CONSTRAINT deleted_posts_updated_at CHECK (length(updated_at) = 24)
);
CREATE INDEX deleted_posts_by_organization ON deleted_posts (organization_id, deleted_at, id);
CREATE INDEX deleted_posts_by_expiry ON deleted_posts (expires_at);

CREATE TABLE post_schedules (
  post_id text COLLATE "C" PRIMARY KEY,
  organization_id text COLLATE "C" NOT NULL REFERENCES organizations ON DELETE CASCADE,
  publish_at bigint NOT NULL,
  time_zone text COLLATE "C" NOT NULL,
  actor_name text COLLATE "C",
  created_at text COLLATE "C" NOT NULL
);
CREATE INDEX post_schedules_by_time ON post_schedules (publish_at);

CREATE TABLE post_versions (
  id text COLLATE "C" PRIMARY KEY,
  post_id text COLLATE "C" NOT NULL,
  organization_id text COLLATE "C" NOT NULL REFERENCES organizations ON DELETE CASCADE,
  title text COLLATE "C" NOT NULL,
  markdown text COLLATE "C" NOT NULL,
  content_type text COLLATE "C" NOT NULL,
  origin text COLLATE "C" NOT NULL,
  actor_type text COLLATE "C" NOT NULL,
  actor_id text COLLATE "C",
  actor_name text COLLATE "C",
  created_at text COLLATE "C" NOT NULL,
  updated_at text COLLATE "C" NOT NULL,
  is_autosave bigint NOT NULL DEFAULT 0,
  CONSTRAINT post_versions_origin CHECK (origin in ('edit', 'restore', 'suggestion', 'trigger', 'import'))
);
CREATE INDEX post_versions_by_post ON post_versions (post_id, created_at, id);

CREATE TABLE leases (
  name text COLLATE "C" PRIMARY KEY,
  holder text COLLATE "C" NOT NULL,
  beat bigint NOT NULL,
  fence bigint NOT NULL
);

CREATE TABLE elapsed_time (
  id bigint PRIMARY KEY,
  elapsed_ms bigint NOT NULL,
  wall_ms bigint NOT NULL,
  boot_id text COLLATE "C" NOT NULL,
  boot_ms bigint NOT NULL,
  offset_ms bigint NOT NULL,
  new_offset_ms bigint,
  new_since_ms bigint,
  swept_to_ms bigint NOT NULL
);

CREATE TABLE throttles (
  key text COLLATE "C" PRIMARY KEY,
  full_at bigint NOT NULL
);
CREATE INDEX throttles_by_time ON throttles (full_at, key);

CREATE TABLE form_marks (
  mark text COLLATE "C" PRIMARY KEY,
  expires_at bigint NOT NULL
);
CREATE INDEX form_marks_by_expiry ON form_marks (expires_at);

CREATE TABLE publications (
  organization_id text COLLATE "C" PRIMARY KEY REFERENCES organizations ON DELETE CASCADE,
  slug text COLLATE "C" NOT NULL,
  is_page_on bigint NOT NULL,
  is_feed_on bigint NOT NULL,
  is_mcp_on bigint NOT NULL,
  title text COLLATE "C" NOT NULL,
  description text COLLATE "C" NOT NULL,
  accent_color text COLLATE "C" NOT NULL,
  logo_id text COLLATE "C" REFERENCES media ON DELETE SET NULL,
  links text COLLATE "C" NOT NULL,
  address text COLLATE "C",
  version text COLLATE "C" NOT NULL,
  updated_at text COLLATE "C" NOT NULL
);
CREATE UNIQUE INDEX publications_by_slug ON publications (slug);

CREATE TABLE rebuild_hooks (
  id text COLLATE "C" PRIMARY KEY,
  organization_id text COLLATE "C" NOT NULL REFERENCES organizations ON DELETE CASCADE,
  name text COLLATE "C" NOT NULL,
  kind text COLLATE "C" NOT NULL,
  about text COLLATE "C" NOT NULL DEFAULT 'posts',
  url text COLLATE "C" NOT NULL,
  host text COLLATE "C" NOT NULL,
  secret text COLLATE "C",
  is_enabled bigint NOT NULL,
  created_at text COLLATE "C" NOT NULL,
  held text COLLATE "C",
  CONSTRAINT rebuild_hooks_kind CHECK (kind in ('signed', 'netlify', 'vercel', 'cloudflare', 'slack', 'discord')),
  CONSTRAINT rebuild_hooks_about CHECK (about in ('posts', 'attention', 'attention-and-server'))
);

CREATE TABLE hook_messages (
  id text COLLATE "C" PRIMARY KEY,
  hook_id text COLLATE "C" NOT NULL REFERENCES rebuild_hooks ON DELETE CASCADE,
  organization_id text COLLATE "C" NOT NULL,
  post_id text COLLATE "C" NOT NULL,
  number bigint NOT NULL,
  type text COLLATE "C" NOT NULL,
  title text COLLATE "C" NOT NULL,
  post_created_at text COLLATE "C" NOT NULL,
  url text COLLATE "C",
  notice text COLLATE "C",
  state text COLLATE "C" NOT NULL,
  attempts bigint NOT NULL,
  due_at bigint NOT NULL,
  created_at text COLLATE "C",
  expires_at bigint,
  CONSTRAINT hook_messages_type
    CHECK (type in ('post.published', 'post.changed', 'post.unpublished', 'post.deleted',
      'attention.began', 'attention.ended', 'attention.summary')),
  CONSTRAINT hook_messages_state CHECK (state in ('queued', 'sent', 'failed', 'merged'))
);
CREATE UNIQUE INDEX hook_messages_by_post ON hook_messages (hook_id, post_id, number);
CREATE INDEX hook_messages_queued ON hook_messages (due_at) WHERE state = 'queued';
CREATE INDEX hook_messages_queued_by_hook ON hook_messages (hook_id, due_at) WHERE state = 'queued';
CREATE INDEX hook_messages_by_expiry ON hook_messages (expires_at);

CREATE TABLE hook_attempts (
  id text COLLATE "C" PRIMARY KEY,
  message_id text COLLATE "C" NOT NULL REFERENCES hook_messages ON DELETE CASCADE,
  started_at text COLLATE "C" NOT NULL,
  duration_ms bigint NOT NULL,
  status_code bigint,
  problem text COLLATE "C",
  response text COLLATE "C"
);
CREATE INDEX hook_attempts_by_message ON hook_attempts (message_id, started_at);

CREATE TABLE post_suggestions (
  id text COLLATE "C" PRIMARY KEY,
  post_id text COLLATE "C" NOT NULL,
  organization_id text COLLATE "C" NOT NULL REFERENCES organizations ON DELETE CASCADE,
  key_id text COLLATE "C" NOT NULL,
  key_name text COLLATE "C" NOT NULL,
  title text COLLATE "C",
  markdown text COLLATE "C",
  note text COLLATE "C" NOT NULL,
  created_at text COLLATE "C" NOT NULL
);
CREATE INDEX post_suggestions_by_post ON post_suggestions (post_id, created_at, id);
CREATE INDEX post_suggestions_by_organization ON post_suggestions (organization_id, created_at, id);

-- Ids of audit events grow and are never used twice, also after rows with given ids.
CREATE SEQUENCE audit_events_id OWNED BY audit_events.id;
CREATE FUNCTION number_audit_event() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF new.id IS NULL THEN
    new.id := nextval('audit_events_id');
  ELSE
    PERFORM setval('audit_events_id', new.id) FROM audit_events_id WHERE last_value < new.id OR NOT is_called;
  END IF;
  RETURN new;
END $$;
CREATE TRIGGER audit_events_numbered BEFORE INSERT ON audit_events
FOR EACH ROW EXECUTE FUNCTION number_audit_event();

-- `post_counts`: the number of posts of each group, and a version that changes with its posts.
CREATE FUNCTION random_version() RETURNS text LANGUAGE sql VOLATILE AS
$$ SELECT left(replace(gen_random_uuid()::text, '-', ''), 16) $$;

CREATE FUNCTION count_post() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'UPDATE'
    AND (old.organization_id, old.status, old.content_type) = (new.organization_id, new.status, new.content_type)
  THEN
    UPDATE post_counts SET version = random_version()
    WHERE organization_id = new.organization_id AND status = new.status AND content_type = new.content_type;
    RETURN NULL;
  END IF;
  IF TG_OP <> 'INSERT' THEN
    UPDATE post_counts SET count = count - 1, version = random_version()
    WHERE organization_id = old.organization_id AND status = old.status AND content_type = old.content_type;
  END IF;
  IF TG_OP <> 'DELETE' THEN
    INSERT INTO post_counts (organization_id, status, content_type, count, version)
    VALUES (new.organization_id, new.status, new.content_type, 1, random_version())
    ON CONFLICT (organization_id, status, content_type)
    DO UPDATE SET count = post_counts.count + 1, version = excluded.version;
  END IF;
  RETURN NULL;
END $$;
CREATE TRIGGER posts_counted AFTER INSERT OR UPDATE OR DELETE ON posts FOR EACH ROW EXECUTE FUNCTION count_post();

-- `delivery_counts`: a transaction keeps the row that it changes until its commit, so a connection has rows of its own.
CREATE FUNCTION count_deliveries() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  step bigint := CASE TG_OP WHEN 'INSERT' THEN 1 ELSE -1 END;
BEGIN
  INSERT INTO delivery_counts (organization_id, integration_id, day, status, shard, entries, arrivals)
  SELECT organization_id, integration_id, left(created_at, 10), status, pg_backend_pid() % 32,
    step * count(*), step * sum(changed.count)
  FROM changed GROUP BY 1, 2, 3, 4 ORDER BY 1, 2, 3, 4
  ON CONFLICT (organization_id, integration_id, day, status, shard)
  DO UPDATE SET entries = delivery_counts.entries + excluded.entries,
    arrivals = delivery_counts.arrivals + excluded.arrivals;
  RETURN NULL;
END $$;
CREATE FUNCTION count_arrivals() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO delivery_counts (organization_id, integration_id, day, status, shard, entries, arrivals)
  SELECT changed.organization_id, changed.integration_id, left(changed.created_at, 10), changed.status,
    pg_backend_pid() % 32, 0, sum(changed.count - former.count)
  FROM changed JOIN former USING (id) WHERE changed.count <> former.count
  GROUP BY 1, 2, 3, 4 ORDER BY 1, 2, 3, 4
  ON CONFLICT (organization_id, integration_id, day, status, shard)
  DO UPDATE SET arrivals = delivery_counts.arrivals + excluded.arrivals;
  RETURN NULL;
END $$;
CREATE TRIGGER deliveries_counted_on_insert AFTER INSERT ON deliveries REFERENCING NEW TABLE AS changed
FOR EACH STATEMENT EXECUTE FUNCTION count_deliveries();
CREATE TRIGGER deliveries_counted_on_update AFTER UPDATE ON deliveries REFERENCING NEW TABLE AS changed OLD TABLE AS former
FOR EACH STATEMENT EXECUTE FUNCTION count_arrivals();
CREATE TRIGGER deliveries_counted_on_delete AFTER DELETE ON deliveries REFERENCING OLD TABLE AS changed
FOR EACH STATEMENT EXECUTE FUNCTION count_deliveries();

-- The outbox: a message for each enabled hook of the organization when a public post changes.
CREATE FUNCTION announce_post() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  was_public boolean := TG_OP <> 'INSERT' AND old.is_public = 1;
  is_public boolean := TG_OP <> 'DELETE' AND new.is_public = 1;
  post posts;
BEGIN
  IF NOT was_public AND NOT is_public THEN RETURN NULL; END IF;
  IF was_public AND is_public
    AND (old.content_type, old.title, old.markdown, old.content, old.created_at, old.source_metadata)
      IS NOT DISTINCT FROM (new.content_type, new.title, new.markdown, new.content, new.created_at, new.source_metadata)
  THEN RETURN NULL; END IF;
  IF is_public THEN post := new; ELSE post := old; END IF;
  INSERT INTO hook_messages
    (id, hook_id, organization_id, post_id, number, type, title, post_created_at, state, attempts, due_at)
  SELECT 'msg_' || replace(gen_random_uuid()::text, '-', ''), rebuild_hooks.id, post.organization_id, post.id,
    (SELECT coalesce(max(number), 0) + 1 FROM hook_messages WHERE hook_id = rebuild_hooks.id AND post_id = post.id),
    CASE
      WHEN TG_OP = 'DELETE' THEN 'post.deleted'
      WHEN NOT is_public THEN 'post.unpublished'
      WHEN was_public THEN 'post.changed'
      ELSE 'post.published'
    END,
    post.title, post.created_at, 'queued', 0, 0
  FROM rebuild_hooks WHERE organization_id = post.organization_id AND is_enabled = 1 AND about = 'posts';
  RETURN NULL;
END $$;
CREATE TRIGGER posts_announced AFTER INSERT OR UPDATE OR DELETE ON posts
FOR EACH ROW EXECUTE FUNCTION announce_post();


-- The words of a text, lowercase and without diacritics: those of SQLite's FTS5 with `unicode61 remove_diacritics 2`,
-- from whose character tables the constants were read. The locale of the database does not matter. Words longer than an
-- index entry can be are cut.
CREATE FUNCTION search_words(value text) RETURNS text[] LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE AS $$
DECLARE
  folded text := lower(replace(replace(value, U&'\FDD0\FDD1', ' '), U&'\FDD0\FDD2', U&'\FDD0') COLLATE "C");
BEGIN
  IF octet_length(folded) > length(folded) THEN
    DECLARE
      capitals CONSTANT text COLLATE "C" :=
        'µÀÁÂÃÄÅÆÇÈÉÊËÌÍÎÏÐÑÒÓÔÕÖØÙÚÛÜÝÞàáâãäåçèéêëìíîïñòóôõöùúûüýÿĀāĂăĄąĆćĈĉĊċČčĎďĐĒēĔĕĖėĘęĚěĜĝĞğĠġĢģĤĥĦĨĩĪī'
        'ĬĭĮįİĲĴĵĶķĹĺĻļĽľĿŁŃńŅņŇňŊŌōŎŏŐőŒŔŕŖŗŘřŚśŜŝŞşŠšŢţŤťŦŨũŪūŬŭŮůŰűŲųŴŵŶŷŸŹźŻżŽžſƁƂƄƆƇƉƊƋƎƏƐƑƓƔƖƗƘƜƝƟƠơƢƤƦ'
        'ƧƩƬƮƯưƱƲƳƵƷƸƼǄǅǇǈǊǋǍǎǏǐǑǒǓǔǕǖǗǘǙǚǛǜǞǟǠǢǤǦǧǨǩǪǫǬǭǮǰǱǲǴǵǶǷǸǹǺǻǼǾȀȁȂȃȄȅȆȇȈȉȊȋȌȍȎȏȐȑȒȓȔȕȖȗȘșȚțȜȞȟȠȢȤȦȧȨȩ'
        'ȪȫȬȭȮȯȰȱȲȳȺȻȽȾɁɃɄɅɆɈɊɌɎͰͲͶΆΈΉΊΌΎΏΑΒΓΔΕΖΗΘΙΚΛΜΝΞΟΠΡΣΤΥΦΧΨΩΪΫςϏϐϑϕϖϘϚϜϞϠϢϤϦϨϪϬϮϰϱϴϵϷϹϺϽϾϿЀЁЂЃЄЅІЇЈЉЊЋЌ'
        'ЍЎЏАБВГДЕЖЗИЙКЛМНОПРСТУФХЦЧШЩЪЫЬЭЮЯѠѢѤѦѨѪѬѮѰѲѴѶѸѺѼѾҀҊҌҎҐҒҔҖҘҚҜҞҠҢҤҦҨҪҬҮҰҲҴҶҸҺҼҾӀӁӃӅӇӉӋӍӐӒӔӖӘӚӜӞӠӢӤӦӨ'
        'ӪӬӮӰӲӴӶӸӺӼӾԀԂԄԆԈԊԌԎԐԒԔԖԘԚԜԞԠԢԤԦԱԲԳԴԵԶԷԸԹԺԻԼԽԾԿՀՁՂՃՄՅՆՇՈՉՊՋՌՍՎՏՐՑՒՓՔՕՖႠႡႢႣႤႥႦႧႨႩႪႫႬႭႮႯႰႱႲႳႴႵႶႷႸႹႺႻႼႽႾ'
        'ႿჀჁჂჃჄჅჇჍḀḁḂḃḄḅḆḇḈḉḊḋḌḍḎḏḐḑḒḓḔḕḖḗḘḙḚḛḜḝḞḟḠḡḢḣḤḥḦḧḨḩḪḫḬḭḮḯḰḱḲḳḴḵḶḷḸḹḺḻḼḽḾḿṀṁṂṃṄṅṆṇṈṉṊṋṌṍṎṏṐṑṒṓṔṕṖṗṘṙṚ'
        'ṛṜṝṞṟṠṡṢṣṤṥṦṧṨṩṪṫṬṭṮṯṰṱṲṳṴṵṶṷṸṹṺṻṼṽṾṿẀẁẂẃẄẅẆẇẈẉẊẋẌẍẎẏẐẑẒẓẔẕẖẗẘẙẛẞẠạẢảẤấẦầẨẩẪẫẬậẮắẰằẲẳẴẵẶặẸẹẺẻẼẽẾếỀềỂ'
        'ểỄễỆệỈỉỊịỌọỎỏỐốỒồỔổỖỗỘộỚớỜờỞởỠỡỢợỤụỦủỨứỪừỬửỮữỰựỲỳỴỵỶỷỸỹỺỼỾἈἉἊἋἌἍἎἏἘἙἚἛἜἝἨἩἪἫἬἭἮἯἸἹἺἻἼἽἾἿὈὉὊὋὌὍὙὛὝὟὨὩ'
        'ὪὫὬὭὮὯᾈᾉᾊᾋᾌᾍᾎᾏᾘᾙᾚᾛᾜᾝᾞᾟᾨᾩᾪᾫᾬᾭᾮᾯᾸᾹᾺΆᾼιῈΈῊΉῌῘῙῚΊῨῩῪΎῬῸΌῺΏῼΩKÅℲⅠⅡⅢⅣⅤⅥⅦⅧⅨⅩⅪⅫⅬⅭⅮⅯↃⰀⰁⰂⰃⰄⰅⰆⰇⰈⰉⰊⰋⰌⰍⰎⰏⰐⰑⰒⰓⰔⰕⰖⰗ'
        'ⰘⰙⰚⰛⰜⰝⰞⰟⰠⰡⰢⰣⰤⰥⰦⰧⰨⰩⰪⰫⰬⰭⰮⱠⱢⱣⱤⱧⱩⱫⱭⱮⱯⱰⱲⱵⱾⱿⲀⲂⲄⲆⲈⲊⲌⲎⲐⲒⲔⲖⲘⲚⲜⲞⲠⲢⲤⲦⲨⲪⲬⲮⲰⲲⲴⲶⲸⲺⲼⲾⳀⳂⳄⳆⳈⳊⳌⳎⳐⳒⳔⳖⳘⳚⳜⳞⳠⳢⳫⳭⳲꙀꙂꙄꙆꙈꙊꙌꙎꙐ'
        'ꙒꙔꙖꙘꙚꙜꙞꙠꙢꙤꙦꙨꙪꙬꚀꚂꚄꚆꚈꚊꚌꚎꚐꚒꚔꚖꜢꜤꜦꜨꜪꜬꜮꜲꜴꜶꜸꜺꜼꜾꝀꝂꝄꝆꝈꝊꝌꝎꝐꝒꝔꝖꝘꝚꝜꝞꝠꝢꝤꝦꝨꝪꝬꝮꝹꝻꝽꝾꞀꞂꞄꞆꞋꞍꞐꞒꞠꞢꞤꞦꞨꞪＡＢＣＤＥＦＧＨＩＪＫＬＭＮＯＰＱＲ'
        'ＳＴＵＶＷＸＹＺ𐐀𐐁𐐂𐐃𐐄𐐅𐐆𐐇𐐈𐐉𐐊𐐋𐐌𐐍𐐎𐐏𐐐𐐑𐐒𐐓𐐔𐐕𐐖𐐗𐐘𐐙𐐚𐐛𐐜𐐝𐐞𐐟𐐠𐐡𐐢𐐣𐐤𐐥𐐦𐐧';
      small_letters CONSTANT text :=
        'μaaaaaaæceeeeiiiiðnoooooøuuuuyþaaaaaaceeeeiiiinooooouuuuyyaaaaaaccccccccddđeeeeeeeeeegggggggghhħiiii'
        'iiiiiĳjjkkllllllŀłnnnnnnŋooooooœrrrrrrssssssssttttŧuuuuuuuuuuuuwwyyyzzzzzzsɓƃƅɔƈɖɗƌǝəɛƒɠɣɩɨƙɯɲɵooƣƥʀ'
        'ƨʃƭʈuuʊʋƴƶʒƹƽǆǆǉǉǌǌaaiioouuuuuuuuuuaaǡǣǥggkkooooǯjǳǳggƕƿnnaaǽǿaaaaeeeeiiiioooorrrruuuussttȝhhƞȣȥaaee'
        'ooooooooyyⱥȼƚⱦɂƀʉʌɇɉɋɍɏͱͳͷάέήίόύώαβγδεζηθικλμνξοπρστυφχψωϊϋσϗβθφπϙϛϝϟϡϣϥϧϩϫϭϯκρθεϸϲϻͻͼͽѐёђѓєѕіїјљњћќ'
        'ѝўџабвгдежзийклмнопрстуфхцчшщъыьэюяѡѣѥѧѩѫѭѯѱѳѵѷѹѻѽѿҁҋҍҏґғҕҗҙқҝҟҡңҥҧҩҫҭүұҳҵҷҹһҽҿӏӂӄӆӈӊӌӎӑӓӕӗәӛӝӟӡӣӥӧө'
        'ӫӭӯӱӳӵӷӹӻӽӿԁԃԅԇԉԋԍԏԑԓԕԗԙԛԝԟԡԣԥԧաբգդեզէըթժիլխծկհձղճմյնշոչպջռսվտրցւփքօֆⴀⴁⴂⴃⴄⴅⴆⴇⴈⴉⴊⴋⴌⴍⴎⴏⴐⴑⴒⴓⴔⴕⴖⴗⴘⴙⴚⴛⴜⴝⴞ'
        'ⴟⴠⴡⴢⴣⴤⴥⴧⴭaabbbbbbccddddddddddeeeeeeeeeeffgghhhhhhhhhhiiiikkkkkkllllllllmmmmmmnnnnnnnnoooooooopppprrr'
        'rrrrrssssssssssttttttttuuuuuuuuuuvvvvwwwwwwwwwwxxxxyyzzzzzzhtwysßaaaaaaaaaaaaaaaaaaaaaaaaeeeeeeeeeee'
        'eeeeeiiiioooooooooooooooooooooooouuuuuuuuuuuuuuyyyyyyyyỻỽỿἀἁἂἃἄἅἆἇἐἑἒἓἔἕἠἡἢἣἤἥἦἧἰἱἲἳἴἵἶἷὀὁὂὃὄὅὑὓὕὗὠὡ'
        'ὢὣὤὥὦὧᾀᾁᾂᾃᾄᾅᾆᾇᾐᾑᾒᾓᾔᾕᾖᾗᾠᾡᾢᾣᾤᾥᾦᾧᾰᾱὰάᾳιὲέὴήῃῐῑὶίῠῡὺύῥὸόὼώῳωkaⅎⅰⅱⅲⅳⅴⅵⅶⅷⅸⅹⅺⅻⅼⅽⅾⅿↄⰰⰱⰲⰳⰴⰵⰶⰷⰸⰹⰺⰻⰼⰽⰾⰿⱀⱁⱂⱃⱄⱅⱆⱇ'
        'ⱈⱉⱊⱋⱌⱍⱎⱏⱐⱑⱒⱓⱔⱕⱖⱗⱘⱙⱚⱛⱜⱝⱞⱡɫᵽɽⱨⱪⱬɑɱɐɒⱳⱶȿɀⲁⲃⲅⲇⲉⲋⲍⲏⲑⲓⲕⲗⲙⲛⲝⲟⲡⲣⲥⲧⲩⲫⲭⲯⲱⲳⲵⲷⲹⲻⲽⲿⳁⳃⳅⳇⳉⳋⳍⳏⳑⳓⳕⳗⳙⳛⳝⳟⳡⳣⳬⳮⳳꙁꙃꙅꙇꙉꙋꙍꙏꙑ'
        'ꙓꙕꙗꙙꙛꙝꙟꙡꙣꙥꙧꙩꙫꙭꚁꚃꚅꚇꚉꚋꚍꚏꚑꚓꚕꚗꜣꜥꜧꜩꜫꜭꜯꜳꜵꜷꜹꜻꜽꜿꝁꝃꝅꝇꝉꝋꝍꝏꝑꝓꝕꝗꝙꝛꝝꝟꝡꝣꝥꝧꝩꝫꝭꝯꝺꝼᵹꝿꞁꞃꞅꞇꞌɥꞑꞓꞡꞣꞥꞧꞩɦａｂｃｄｅｆｇｈｉｊｋｌｍｎｏｐｑｒ'
        'ｓｔｕｖｗｘｙｚ𐐨𐐩𐐪𐐫𐐬𐐭𐐮𐐯𐐰𐐱𐐲𐐳𐐴𐐵𐐶𐐷𐐸𐐹𐐺𐐻𐐼𐐽𐐾𐐿𐑀𐑁𐑂𐑃𐑄𐑅𐑆𐑇𐑈𐑉𐑊𐑋𐑌𐑍𐑎𐑏';
      -- Ignored inside a word.
      marks CONSTANT text :=
        U&'\0300\0301\0302\0303\0304\0306\0307\0308\0309\030A\030B\030C\030F\0311\031B\0323\0324\0325\0326\0327\0328\032D\032E\0330\0331';
      separators CONSTANT int4multirange :=
        '{[128,169],[171,177],[180,180],[182,184],[187,187],[191,191],[215,215],[247,247],[706,709],[722,735],
        [741,747],[749,749],[751,767],[773,773],[781,782],[784,784],[786,794],[796,802],[809,812],[815,815],
        [818,879],[885,885],[894,894],[900,901],[903,903],[1014,1014],[1154,1161],[1370,1375],[1417,1418],
        [1423,1423],[1425,1479],[1523,1524],[1536,1540],[1542,1563],[1566,1567],[1611,1631],[1642,1645],
        [1648,1648],[1748,1748],[1750,1764],[1767,1773],[1789,1790],[1792,1805],[1807,1807],[1809,1809],
        [1840,1866],[1958,1968],[2027,2035],[2038,2041],[2070,2073],[2075,2083],[2085,2087],[2089,2093],
        [2096,2110],[2137,2139],[2142,2142],[2276,2302],[2304,2307],[2362,2364],[2366,2383],[2385,2391],
        [2402,2405],[2416,2416],[2433,2435],[2492,2492],[2494,2500],[2503,2504],[2507,2509],[2519,2519],
        [2530,2531],[2546,2547],[2554,2555],[2561,2563],[2620,2620],[2622,2626],[2631,2632],[2635,2637],
        [2641,2641],[2672,2673],[2677,2677],[2689,2691],[2748,2748],[2750,2757],[2759,2761],[2763,2765],
        [2786,2787],[2800,2801],[2817,2819],[2876,2876],[2878,2884],[2887,2888],[2891,2893],[2902,2903],
        [2914,2915],[2928,2928],[2946,2946],[3006,3010],[3014,3016],[3018,3021],[3031,3031],[3059,3066],
        [3073,3075],[3134,3140],[3142,3144],[3146,3149],[3157,3158],[3170,3171],[3199,3199],[3202,3203],
        [3260,3260],[3262,3268],[3270,3272],[3274,3277],[3285,3286],[3298,3299],[3330,3331],[3390,3396],
        [3398,3400],[3402,3405],[3415,3415],[3426,3427],[3449,3449],[3458,3459],[3530,3530],[3535,3540],
        [3542,3542],[3544,3551],[3570,3572],[3633,3633],[3636,3642],[3647,3647],[3655,3663],[3674,3675],
        [3761,3761],[3764,3769],[3771,3772],[3784,3789],[3841,3871],[3892,3903],[3953,3975],[3981,3991],
        [3993,4028],[4030,4044],[4046,4058],[4139,4158],[4170,4175],[4182,4185],[4190,4192],[4194,4196],
        [4199,4205],[4209,4212],[4226,4237],[4239,4239],[4250,4255],[4347,4347],[4957,4968],[5008,5017],
        [5120,5120],[5741,5742],[5760,5760],[5787,5788],[5867,5869],[5906,5908],[5938,5942],[5970,5971],
        [6002,6003],[6068,6102],[6104,6107],[6109,6109],[6144,6158],[6313,6313],[6432,6443],[6448,6459],
        [6464,6464],[6468,6469],[6576,6592],[6600,6601],[6622,6655],[6679,6683],[6686,6687],[6741,6750],
        [6752,6780],[6783,6783],[6816,6822],[6824,6829],[6912,6916],[6964,6980],[7002,7036],[7040,7042],
        [7073,7085],[7142,7155],[7164,7167],[7204,7223],[7227,7231],[7294,7295],[7360,7367],[7376,7400],
        [7405,7405],[7410,7412],[7616,7654],[7676,7679],[8125,8125],[8127,8129],[8141,8143],[8157,8159],
        [8173,8175],[8189,8190],[8192,8292],[8298,8303],[8314,8318],[8330,8334],[8352,8377],[8400,8432],
        [8448,8449],[8451,8454],[8456,8457],[8468,8468],[8470,8472],[8478,8483],[8485,8485],[8487,8487],
        [8489,8489],[8494,8494],[8506,8507],[8512,8516],[8522,8525],[8527,8527],[8592,9203],[9216,9254],
        [9280,9290],[9372,9449],[9472,9983],[9985,10101],[10132,11084],[11088,11097],[11493,11498],
        [11503,11505],[11513,11516],[11518,11519],[11632,11632],[11647,11647],[11744,11822],[11824,11835],
        [11904,11929],[11931,12019],[12032,12245],[12272,12283],[12288,12292],[12296,12320],[12330,12336],
        [12342,12343],[12349,12351],[12441,12444],[12448,12448],[12539,12539],[12688,12689],[12694,12703],
        [12736,12771],[12800,12830],[12842,12871],[12880,12880],[12896,12927],[12938,12976],[12992,13054],
        [13056,13311],[19904,19967],[42128,42182],[42238,42239],[42509,42511],[42607,42622],[42655,42655],
        [42736,42743],[42752,42774],[42784,42785],[42889,42890],[43010,43010],[43014,43014],[43019,43019],
        [43043,43051],[43062,43065],[43124,43127],[43136,43137],[43188,43204],[43214,43215],[43232,43249],
        [43256,43258],[43302,43311],[43335,43347],[43359,43359],[43392,43395],[43443,43469],[43486,43487],
        [43561,43574],[43587,43587],[43596,43597],[43612,43615],[43639,43641],[43643,43643],[43696,43696],
        [43698,43700],[43703,43704],[43710,43711],[43713,43713],[43742,43743],[43755,43761],[43765,43766],
        [44003,44013],[64286,64286],[64297,64297],[64434,64449],[64830,64831],[65020,65021],[65024,65049],
        [65056,65062],[65072,65106],[65108,65126],[65128,65131],[65279,65279],[65281,65295],[65306,65312],
        [65339,65344],[65371,65381],[65504,65510],[65512,65518],[65529,65535],[65792,65794],[65847,65855],
        [65913,65929],[65936,65947],[66000,66045],[66463,66463],[66512,66512],[67671,67671],[67871,67871],
        [67903,67903],[68097,68099],[68101,68102],[68108,68111],[68152,68154],[68159,68159],[68176,68184],
        [68223,68223],[68409,68415],[69632,69634],[69688,69709],[69760,69762],[69808,69825],[69888,69890],
        [69927,69940],[69952,69955],[70016,70018],[70067,70080],[70085,70088],[71339,71351],[74864,74867],
        [94033,94078],[94095,94098],[118784,119029],[119040,119078],[119081,119261],[119296,119365],
        [119552,119638],[120513,120513],[120539,120539],[120571,120571],[120597,120597],[120629,120629],
        [120655,120655],[120687,120687],[120713,120713],[120745,120745],[120771,120771],[126704,126705],
        [126976,127019],[127024,127123],[127136,127150],[127153,127166],[127169,127183],[127185,127199],
        [127248,127278],[127280,127339],[127344,127386],[127462,127490],[127504,127546],[127552,127560],
        [127568,127569],[127744,127776],[127792,127797],[127799,127868],[127872,127891],[127904,127940],
        [127942,127946],[127968,127984],[128000,128062],[128064,128064],[128066,128247],[128249,128252],
        [128256,128317],[128320,128323],[128336,128359],[128507,128576],[128581,128591],[128640,128709],
        [128768,128883],[917505,917505],[917536,917631],[917760,917999]}';
      separators_here text;
      capitals_here text;
      small_here text;
    BEGIN
      -- `translate` walks the list of its characters for each one of the text, so it gets only those of this text.
      SELECT
        coalesce(string_agg(character, '') FILTER (WHERE ascii(character) <@ separators), ''),
        coalesce(string_agg(character, '') FILTER (WHERE place > 0), ''),
        coalesce(string_agg(substr(small_letters, place, 1), '') FILTER (WHERE place > 0), '')
      INTO separators_here, capitals_here, small_here
      FROM (SELECT DISTINCT character FROM string_to_table(folded, NULL) AS character WHERE character > U&'\007F') AS used,
        LATERAL (SELECT strpos(capitals, character) AS place) AS found;
      -- Marks have no counterpart, so they are removed.
      folded := translate(
        folded, separators_here || capitals_here || marks, repeat(' ', length(separators_here)) || small_here
      );
    END;
  END IF;
  RETURN ARRAY(
    SELECT left(word, 500)
    FROM string_to_table(regexp_replace(folded, '[^a-z0-9\u0080-\U0010FFFF]+', ' ', 'g'), ' ')
      WITH ORDINALITY AS list (word, place)
    WHERE word <> '' ORDER BY place
  );
END $$;

-- `words` are those of title and text, to find words beside each other. `terms` are the same for the index, with the
-- organization, the status and the type, so that a search visits only rows that it may show; no word begins with a
-- colon. `number` is the order in which posts were added. Only the beginning of a long text is searched, as an index
-- entry has at most 1 MB.
CREATE TABLE post_search (
  post_id text COLLATE "C" PRIMARY KEY REFERENCES posts ON DELETE CASCADE,
  number bigint GENERATED ALWAYS AS IDENTITY,
  words text COLLATE "C" NOT NULL,
  terms tsvector NOT NULL
);
-- Without fastupdate, searches stay quick between two runs of vacuum.
CREATE INDEX post_search_by_term ON post_search USING gin (terms) WITH (fastupdate = off);

CREATE FUNCTION make_post_searchable() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  title text[] := search_words(left(new.title, 5000));
  content text[] := search_words(left(new.content, 250000));
  others text[] := search_words(left(coalesce(new.search_words, ''), 250000));
BEGIN
  INSERT INTO post_search (post_id, words, terms) VALUES (
    new.id,
    ' ' || array_to_string(title, ' ') || E' \n ' || array_to_string(content, ' ') || E' \n '
      || array_to_string(others, ' ') || ' ',
    array_to_tsvector(
      title || content || others
      || ARRAY[':organization:' || new.organization_id, ':status:' || new.status, ':type:' || new.content_type]
    )
  )
  ON CONFLICT (post_id) DO UPDATE SET words = excluded.words, terms = excluded.terms;
  RETURN NULL;
END $$;
CREATE TRIGGER posts_searchable_on_insert AFTER INSERT ON posts
FOR EACH ROW EXECUTE FUNCTION make_post_searchable();
CREATE TRIGGER posts_searchable_on_update AFTER UPDATE ON posts
FOR EACH ROW WHEN (
  (old.title, old.content, old.status, old.content_type, old.search_words)
    IS DISTINCT FROM (new.title, new.content, new.status, new.content_type, new.search_words)
) EXECUTE FUNCTION make_post_searchable();

-- A word or another term in the syntax of `tsquery`.
CREATE FUNCTION quote_term(term text) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE AS
$$ SELECT '''' || replace(replace(term, '\', '\\'), '''', '''''') || '''' $$;

CREATE FUNCTION any_term(prefix text, terms text) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE AS
$$ SELECT coalesce(' & (' || string_agg(quote_term(prefix || term), ' | ') || ')', '')
   FROM json_array_elements_text(terms::json) AS term $$;

-- Ids of the posts that have all wanted words, newest first. Of more than `at_most`, those that were added last. Wanted
-- words, statuses and types are JSON arrays; null statuses or types stand for all. A wanted word that the index has as
-- several must stand there as such. `is_unfinished`: the last one may be the beginning of a word. Sequential scans are off,
-- because the planner ignores what reading the long terms of each row costs.
CREATE FUNCTION find_posts(
  organization text, wanted text, is_unfinished bigint, statuses text, types text, at_most bigint
) RETURNS SETOF text LANGUAGE plpgsql STABLE
SET plan_cache_mode = force_custom_plan SET enable_seqscan = off AS $$
DECLARE
  terms_wanted text := quote_term(':organization:' || organization);
  phrases text[] := '{}';
  last_one int := json_array_length(wanted::json);
  each record;
BEGIN
  FOR each IN
    SELECT search_words(value) AS words, is_unfinished = 1 AND place = last_one AS is_prefix
    FROM json_array_elements_text(wanted::json) WITH ORDINALITY AS list (value, place)
  LOOP
    IF cardinality(each.words) = 0 THEN RETURN; END IF;
    terms_wanted := terms_wanted || ' & '
      || (SELECT string_agg(quote_term(word), ' & ') FROM unnest(each.words) AS word)
      || CASE WHEN each.is_prefix THEN ':*' ELSE '' END;
    IF cardinality(each.words) > 1 THEN
      phrases := phrases
        || (' ' || array_to_string(each.words, ' ') || CASE WHEN each.is_prefix THEN '' ELSE ' ' END);
    END IF;
  END LOOP;
  terms_wanted := terms_wanted || any_term(':status:', statuses) || any_term(':type:', types);
  RETURN QUERY
    WITH found AS MATERIALIZED (
      SELECT post_id FROM post_search
      WHERE terms @@ terms_wanted::tsquery
        AND NOT EXISTS (SELECT FROM unnest(phrases) AS phrase WHERE strpos(words, phrase) = 0)
      ORDER BY number DESC LIMIT at_most
    )
    SELECT posts.id FROM found JOIN posts ON posts.id = found.post_id
    ORDER BY posts.created_at DESC, posts.id DESC;
END $$;
