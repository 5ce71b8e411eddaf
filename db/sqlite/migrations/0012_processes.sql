CREATE TABLE `form_marks` (
	`mark` text PRIMARY KEY NOT NULL,
	`expires_at` integer NOT NULL
);
--> statement-breakpoint
CREATE INDEX `form_marks_by_expiry` ON `form_marks` (`expires_at`);--> statement-breakpoint
CREATE TABLE `leases` (
	`name` text PRIMARY KEY NOT NULL,
	`holder` text NOT NULL,
	`beat` integer NOT NULL,
	`fence` integer NOT NULL
);
--> statement-breakpoint
CREATE TABLE `throttles` (
	`key` text PRIMARY KEY NOT NULL,
	`full_at` integer NOT NULL
);
--> statement-breakpoint
CREATE INDEX `throttles_by_time` ON `throttles` (`full_at`,`key`);--> statement-breakpoint
ALTER TABLE `server_runs` ADD `process` text;