-- oldest compatible: 2
ALTER TABLE drafts ADD COLUMN source text COLLATE "C";
CREATE INDEX drafts_by_subject ON drafts (trigger_id, subject);
CREATE INDEX releases_by_branch ON events (integration_id, repository_id, branch, occurred_at, key)
  WHERE type = 'release';
