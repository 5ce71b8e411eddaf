-- oldest compatible: 1
CREATE TABLE former_slugs (
  slug text COLLATE "C" PRIMARY KEY,
  organization_id text COLLATE "C" NOT NULL REFERENCES organizations (id) ON DELETE CASCADE,
  expires_at bigint NOT NULL
);
CREATE INDEX former_slugs_by_organization ON former_slugs (organization_id);
CREATE INDEX former_slugs_by_expiry ON former_slugs (expires_at);
