-- oldest compatible: 2
CREATE TABLE post_approvals (
  post_id text COLLATE "C" PRIMARY KEY,
  organization_id text COLLATE "C" NOT NULL REFERENCES organizations ON DELETE CASCADE,
  state text COLLATE "C" NOT NULL,
  hash text COLLATE "C" NOT NULL,
  version_id text COLLATE "C" NOT NULL,
  change text COLLATE "C",
  asked_by_id text COLLATE "C",
  asked_by text COLLATE "C" NOT NULL,
  asked_at text COLLATE "C" NOT NULL,
  decided_by_id text COLLATE "C",
  decided_by text COLLATE "C",
  decided_at text COLLATE "C",
  note text COLLATE "C",
  CONSTRAINT post_approvals_state CHECK (state in ('waiting', 'approved', 'declined', 'withdrawn'))
);
CREATE INDEX post_approvals_waiting ON post_approvals (asked_at) WHERE state = 'waiting';

ALTER TABLE memberships DROP CONSTRAINT memberships_role;
ALTER TABLE memberships ADD CONSTRAINT memberships_role CHECK (role in ('owner', 'member', 'writer'));
ALTER TABLE organizations ADD COLUMN needs_approval bigint NOT NULL DEFAULT 0;
ALTER TABLE post_versions ADD COLUMN reached text COLLATE "C";
