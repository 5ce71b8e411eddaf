CREATE TABLE `hooks` (
	`integration_id` text NOT NULL,
	`place_id` text NOT NULL,
	`place_name` text NOT NULL,
	`repository_id` text,
	`remote_id` text,
	`events` text NOT NULL,
	`has_present_secret` integer NOT NULL,
	`problem` text,
	`retry_at` integer,
	`attempts` integer NOT NULL,
	`created_at` text NOT NULL,
	PRIMARY KEY(`integration_id`, `place_id`),
	FOREIGN KEY (`integration_id`) REFERENCES `integrations`(`id`) ON UPDATE no action ON DELETE cascade,
	FOREIGN KEY (`repository_id`) REFERENCES `repositories`(`id`) ON UPDATE no action ON DELETE cascade
);
--> statement-breakpoint
CREATE TABLE `server_runs` (
	`id` text PRIMARY KEY NOT NULL,
	`public_url` text NOT NULL,
	`started_at` text NOT NULL,
	`alive_at` text NOT NULL
);
--> statement-breakpoint
ALTER TABLE `integrations` ADD `token` blob;--> statement-breakpoint
ALTER TABLE `integrations` ADD `missed_checked_at` text;