CREATE TABLE `elapsed_time` (
	`id` integer PRIMARY KEY NOT NULL,
	`elapsed_ms` integer NOT NULL,
	`wall_ms` integer NOT NULL,
	`boot_id` text NOT NULL,
	`boot_ms` integer NOT NULL,
	`offset_ms` integer NOT NULL,
	`new_offset_ms` integer,
	`new_since_ms` integer,
	`swept_to_ms` integer NOT NULL
);
