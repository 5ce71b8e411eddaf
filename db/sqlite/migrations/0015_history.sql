CREATE TABLE `github_apps` (
	`integration_id` text PRIMARY KEY NOT NULL,
	`app_id` integer NOT NULL,
	`slug` text NOT NULL,
	`url` text NOT NULL,
	`private_key` blob NOT NULL,
	`installation_id` integer,
	`suspended_at` text,
	`created_at` text NOT NULL,
	FOREIGN KEY (`integration_id`) REFERENCES `integrations`(`id`) ON UPDATE no action ON DELETE cascade
);
--> statement-breakpoint
CREATE TABLE `histories` (
	`id` text PRIMARY KEY NOT NULL,
	`integration_id` text NOT NULL,
	`repository_id` text NOT NULL,
	`trigger_id` text NOT NULL,
	`since` text,
	`releases` integer,
	`publish` integer NOT NULL,
	`status` text NOT NULL,
	`cursor` text,
	`found` integer NOT NULL,
	`read` integer NOT NULL,
	`problem` text,
	`due_at` integer NOT NULL,
	`attempts` integer NOT NULL,
	`created_at` text NOT NULL,
	`ended_at` text,
	FOREIGN KEY (`integration_id`) REFERENCES `integrations`(`id`) ON UPDATE no action ON DELETE cascade,
	FOREIGN KEY (`repository_id`) REFERENCES `repositories`(`id`) ON UPDATE no action ON DELETE cascade,
	CONSTRAINT "histories_status" CHECK("histories"."status" in ('queued', 'done', 'failed', 'stopped'))
);
--> statement-breakpoint
CREATE INDEX `histories_by_integration` ON `histories` (`integration_id`,`created_at`);--> statement-breakpoint
CREATE INDEX `histories_due` ON `histories` (`due_at`) WHERE "histories"."status" = 'queued';--> statement-breakpoint
CREATE TABLE `polls` (
	`repository_id` text PRIMARY KEY NOT NULL,
	`integration_id` text NOT NULL,
	`cursor` text,
	`due_at` integer NOT NULL,
	`polled_at` text,
	`problem` text,
	`attempts` integer NOT NULL,
	FOREIGN KEY (`repository_id`) REFERENCES `repositories`(`id`) ON UPDATE no action ON DELETE cascade,
	FOREIGN KEY (`integration_id`) REFERENCES `integrations`(`id`) ON UPDATE no action ON DELETE cascade
);
--> statement-breakpoint
CREATE INDEX `polls_by_integration` ON `polls` (`integration_id`);--> statement-breakpoint
CREATE INDEX `polls_due` ON `polls` (`due_at`);--> statement-breakpoint
CREATE TABLE `release_ranges` (
	`integration_id` text NOT NULL,
	`repository_id` text NOT NULL,
	`tag` text NOT NULL,
	`previous_tag` text,
	`commits` text,
	`status` text NOT NULL,
	`due_at` integer NOT NULL,
	`attempts` integer NOT NULL,
	`problem` text,
	`created_at` text NOT NULL,
	PRIMARY KEY(`integration_id`, `repository_id`, `tag`),
	FOREIGN KEY (`integration_id`) REFERENCES `integrations`(`id`) ON UPDATE no action ON DELETE cascade,
	CONSTRAINT "release_ranges_status" CHECK("release_ranges"."status" in ('queued', 'known', 'unknown'))
);
--> statement-breakpoint
CREATE INDEX `release_ranges_due` ON `release_ranges` (`due_at`) WHERE "release_ranges"."status" = 'queued';--> statement-breakpoint
DROP INDEX `delivery_results_unsettled`;--> statement-breakpoint
CREATE INDEX `delivery_results_unsettled` ON `delivery_results` (`trigger_id`,`scope`) WHERE "delivery_results"."outcome" in ('queued', 'failed', 'waiting');--> statement-breakpoint
ALTER TABLE `deliveries` ADD `is_polled` integer DEFAULT false NOT NULL;--> statement-breakpoint
ALTER TABLE `integrations` ADD `is_polled` integer DEFAULT false NOT NULL;--> statement-breakpoint
ALTER TABLE `trigger_events` ADD `publish` integer DEFAULT false NOT NULL;