-- oldest compatible: 1
CREATE TABLE former_slugs (
  slug text COLLATE "C" PRIMARY KEY,
  organization_id text COLLATE "C" NOT NULL REFERENCES organizations (id) ON DELETE CASCADE,
  expires_at bigint NOT NULL
);
