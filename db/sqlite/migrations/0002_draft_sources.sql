ALTER TABLE `drafts` ADD `source` text;--> statement-breakpoint
CREATE INDEX `drafts_by_subject` ON `drafts` (`trigger_id`,`subject`);--> statement-breakpoint
CREATE INDEX `releases_by_branch` ON `events` (`integration_id`,`repository_id`,`branch`,`occurred_at`,`key`) WHERE "events"."type" = 'release';