CREATE TABLE `delivery_results` (
	`delivery_id` text NOT NULL,
	`trigger_id` text NOT NULL,
	`scope` text NOT NULL,
	`event_key` text NOT NULL,
	`outcome` text NOT NULL,
	`post_id` text,
	`error` text,
	`updated_at` text NOT NULL,
	`expires_at` integer NOT NULL,
	PRIMARY KEY(`delivery_id`, `trigger_id`),
	CONSTRAINT "delivery_results_outcome" CHECK("delivery_results"."outcome" in ('queued', 'created', 'updated', 'unchanged', 'suggested', 'kept', 'removed', 'waiting', 'filtered', 'failed'))
);
--> statement-breakpoint
CREATE INDEX `delivery_results_unsettled` ON `delivery_results` (`trigger_id`,`scope`) WHERE "delivery_results"."outcome" in ('queued', 'failed');--> statement-breakpoint
CREATE INDEX `delivery_results_by_expiry` ON `delivery_results` (`expires_at`);--> statement-breakpoint
CREATE TABLE `media` (
	`id` text PRIMARY KEY NOT NULL,
	`organization_id` text NOT NULL,
	`sha256` blob NOT NULL,
	`type` text NOT NULL,
	`bytes` integer NOT NULL,
	`width` integer NOT NULL,
	`height` integer NOT NULL,
	`name` text NOT NULL,
	`alt` text NOT NULL,
	`actor_name` text,
	`created_at` text NOT NULL,
	FOREIGN KEY (`organization_id`) REFERENCES `organizations`(`id`) ON UPDATE no action ON DELETE cascade,
	CONSTRAINT "media_type" CHECK("media"."type" in ('image/png', 'image/jpeg', 'image/gif', 'image/webp', 'image/avif'))
);
--> statement-breakpoint
CREATE UNIQUE INDEX `media_by_content` ON `media` (`organization_id`,`sha256`);--> statement-breakpoint
CREATE INDEX `media_by_organization` ON `media` (`organization_id`,`created_at`,`id`);--> statement-breakpoint
CREATE TABLE `media_copies` (
	`integration_id` text NOT NULL,
	`url` text NOT NULL,
	`organization_id` text NOT NULL,
	`status` text NOT NULL,
	`media_id` text,
	`attempts` integer NOT NULL,
	`due_at` integer NOT NULL,
	`error` text,
	`created_at` text NOT NULL,
	PRIMARY KEY(`integration_id`, `url`),
	FOREIGN KEY (`organization_id`) REFERENCES `organizations`(`id`) ON UPDATE no action ON DELETE cascade,
	FOREIGN KEY (`media_id`) REFERENCES `media`(`id`) ON UPDATE no action ON DELETE set null,
	CONSTRAINT "media_copies_status" CHECK("media_copies"."status" in ('queued', 'done', 'failed'))
);
--> statement-breakpoint
CREATE INDEX `media_copies_due` ON `media_copies` (`status`,`due_at`);--> statement-breakpoint
CREATE TABLE `deleted_posts` (
	`id` text PRIMARY KEY NOT NULL,
	`organization_id` text NOT NULL,
	`status` text NOT NULL,
	`content_type` text NOT NULL,
	`created_at` text NOT NULL,
	`updated_at` text NOT NULL,
	`title` text NOT NULL,
	`content` text NOT NULL,
	`markdown` text NOT NULL,
	`source_metadata` text,
	`is_date_set` integer DEFAULT true NOT NULL,
	`deleted_at` text NOT NULL,
	`actor_name` text,
	`expires_at` integer NOT NULL,
	FOREIGN KEY (`organization_id`) REFERENCES `organizations`(`id`) ON UPDATE no action ON DELETE cascade,
	CONSTRAINT "deleted_posts_status" CHECK("deleted_posts"."status" in ('draft', 'published')),
	CONSTRAINT "deleted_posts_content_type" CHECK("deleted_posts"."content_type" in ('changelog', 'linkedin_post')),
	CONSTRAINT "deleted_posts_created_at" CHECK(length("deleted_posts"."created_at") = 24),
	CONSTRAINT "deleted_posts_updated_at" CHECK(length("deleted_posts"."updated_at") = 24)
);
--> statement-breakpoint
CREATE INDEX `deleted_posts_by_organization` ON `deleted_posts` (`organization_id`,`deleted_at`,`id`);--> statement-breakpoint
CREATE INDEX `deleted_posts_by_expiry` ON `deleted_posts` (`expires_at`);--> statement-breakpoint
CREATE TABLE `post_schedules` (
	`post_id` text PRIMARY KEY NOT NULL,
	`organization_id` text NOT NULL,
	`publish_at` integer NOT NULL,
	`time_zone` text NOT NULL,
	`actor_name` text,
	`created_at` text NOT NULL,
	FOREIGN KEY (`organization_id`) REFERENCES `organizations`(`id`) ON UPDATE no action ON DELETE cascade
);
--> statement-breakpoint
CREATE INDEX `post_schedules_by_time` ON `post_schedules` (`publish_at`);--> statement-breakpoint
CREATE INDEX `post_schedules_by_organization` ON `post_schedules` (`organization_id`,`publish_at`);--> statement-breakpoint
CREATE TABLE `post_versions` (
	`id` text PRIMARY KEY NOT NULL,
	`post_id` text NOT NULL,
	`organization_id` text NOT NULL,
	`title` text NOT NULL,
	`markdown` text NOT NULL,
	`content_type` text NOT NULL,
	`origin` text NOT NULL,
	`actor_type` text NOT NULL,
	`actor_id` text,
	`actor_name` text,
	`created_at` text NOT NULL,
	`updated_at` text NOT NULL,
	FOREIGN KEY (`organization_id`) REFERENCES `organizations`(`id`) ON UPDATE no action ON DELETE cascade,
	CONSTRAINT "post_versions_content_type" CHECK("post_versions"."content_type" in ('changelog', 'linkedin_post')),
	CONSTRAINT "post_versions_origin" CHECK("post_versions"."origin" in ('edit', 'restore', 'suggestion', 'trigger', 'import'))
);
--> statement-breakpoint
CREATE INDEX `post_versions_by_post` ON `post_versions` (`post_id`,`created_at`,`id`);--> statement-breakpoint
ALTER TABLE `posts` ADD `is_date_set` integer DEFAULT true NOT NULL;--> statement-breakpoint
ALTER TABLE `staged_posts` ADD `is_date_set` integer DEFAULT true NOT NULL;--> statement-breakpoint
CREATE INDEX `drafts_with_suggestion` ON `drafts` (`post_id`) WHERE "drafts"."suggestion" is not null;--> statement-breakpoint
-- Drafts of past releases keep the date of the release.
UPDATE `posts` SET `is_date_set` = 0 WHERE `status` = 'draft' AND `id` IN (
	SELECT `post_id` FROM `drafts` WHERE NOT EXISTS (
		SELECT 1 FROM `trigger_events` WHERE `draft_only` = 1 AND `type` = 'release'
		AND `trigger_events`.`trigger_id` = `drafts`.`trigger_id`
		AND `trigger_events`.`repository_id` || ' ' = substr(`drafts`.`scope`, 1, length(`trigger_events`.`repository_id`) + 1)
		AND `drafts`.`subject` = 'release ' || `trigger_events`.`key`
	)
);
