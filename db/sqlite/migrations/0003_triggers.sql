CREATE TABLE `drafts` (
	`trigger_id` text NOT NULL,
	`scope` text NOT NULL,
	`subject` text NOT NULL,
	`post_id` text NOT NULL,
	`written_hash` text NOT NULL,
	`event_keys` text NOT NULL,
	`until` text NOT NULL,
	`suggestion` text,
	`suggested_at` text,
	`dismissed_hash` text,
	PRIMARY KEY(`trigger_id`, `scope`, `subject`),
	FOREIGN KEY (`trigger_id`) REFERENCES `triggers`(`id`) ON UPDATE no action ON DELETE cascade
);
--> statement-breakpoint
CREATE INDEX `drafts_by_post` ON `drafts` (`post_id`);--> statement-breakpoint
CREATE TABLE `events` (
	`integration_id` text NOT NULL,
	`repository_id` text NOT NULL,
	`type` text NOT NULL,
	`key` text NOT NULL,
	`branch` text,
	`occurred_at` text NOT NULL,
	`version` text NOT NULL,
	`repository` text,
	`delivery_id` text NOT NULL,
	`is_prerelease` integer GENERATED ALWAYS AS (json_extract("data", '$.isPrerelease')) STORED,
	`data` text NOT NULL,
	PRIMARY KEY(`integration_id`, `repository_id`, `type`, `key`),
	FOREIGN KEY (`integration_id`) REFERENCES `integrations`(`id`) ON UPDATE no action ON DELETE cascade
);
--> statement-breakpoint
CREATE INDEX `events_by_time` ON `events` (`integration_id`,`repository_id`,`type`,`occurred_at`);--> statement-breakpoint
CREATE TABLE `trigger_runs` (
	`trigger_id` text NOT NULL,
	`scope` text NOT NULL,
	`since` text NOT NULL,
	`revision` integer NOT NULL,
	`status` text NOT NULL,
	`attempts` integer NOT NULL,
	`due_at` integer NOT NULL,
	`delivery_id` text NOT NULL,
	`error` text,
	`queued_at` text NOT NULL,
	PRIMARY KEY(`trigger_id`, `scope`),
	FOREIGN KEY (`trigger_id`) REFERENCES `triggers`(`id`) ON UPDATE no action ON DELETE cascade,
	CONSTRAINT "trigger_runs_status" CHECK("trigger_runs"."status" in ('queued', 'failed'))
);
--> statement-breakpoint
CREATE INDEX `trigger_runs_due` ON `trigger_runs` (`status`,`attempts`,`due_at`);--> statement-breakpoint
CREATE TABLE `triggers` (
	`id` text PRIMARY KEY NOT NULL,
	`integration_id` text NOT NULL,
	`repository_id` text,
	`event` text NOT NULL,
	`rule` text NOT NULL,
	`filters` text NOT NULL,
	`content_type` text NOT NULL,
	`title_template` text,
	`body_template` text,
	`publish` integer NOT NULL,
	`enabled` integer NOT NULL,
	`created_at` text NOT NULL,
	`updated_at` text NOT NULL,
	FOREIGN KEY (`integration_id`) REFERENCES `integrations`(`id`) ON UPDATE no action ON DELETE cascade,
	FOREIGN KEY (`repository_id`) REFERENCES `repositories`(`id`) ON UPDATE no action ON DELETE cascade,
	CONSTRAINT "triggers_content_type" CHECK("triggers"."content_type" in ('changelog', 'linkedin_post'))
);
--> statement-breakpoint
CREATE UNIQUE INDEX `triggers_rule_unique` ON `triggers` (`rule`);--> statement-breakpoint
CREATE INDEX `triggers_by_integration` ON `triggers` (`integration_id`);--> statement-breakpoint
ALTER TABLE `deliveries` ADD `replay_of` text;