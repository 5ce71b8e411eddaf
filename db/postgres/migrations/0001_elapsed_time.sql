-- oldest compatible: 1
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
