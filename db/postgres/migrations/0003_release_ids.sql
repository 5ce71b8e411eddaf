-- oldest compatible: 3
ALTER TABLE events ADD COLUMN release_id text COLLATE "C";
CREATE UNIQUE INDEX releases_by_id ON events (integration_id, repository_id, release_id) WHERE release_id IS NOT NULL;
