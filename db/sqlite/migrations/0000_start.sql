CREATE TABLE `api_keys` (
	`id` text PRIMARY KEY NOT NULL,
	`organization_id` text NOT NULL,
	`name` text NOT NULL,
	`hash` blob NOT NULL,
	`prefix` text NOT NULL,
	`permissions` text NOT NULL,
	`created_at` text NOT NULL,
	`expires_at` text,
	`revoked_at` text,
	`last_used_at` text,
	FOREIGN KEY (`organization_id`) REFERENCES `organizations`(`id`) ON UPDATE no action ON DELETE cascade
);
--> statement-breakpoint
CREATE UNIQUE INDEX `api_keys_hash_unique` ON `api_keys` (`hash`);--> statement-breakpoint
CREATE INDEX `api_keys_by_organization` ON `api_keys` (`organization_id`,`created_at`);--> statement-breakpoint
CREATE TABLE `audit_events` (
	`id` integer PRIMARY KEY AUTOINCREMENT NOT NULL,
	`organization_id` text,
	`action` text NOT NULL,
	`actor_type` text NOT NULL,
	`actor_id` text,
	`actor_name` text,
	`address` text,
	`target_type` text,
	`target_id` text,
	`summary` text NOT NULL,
	`count` integer NOT NULL,
	`created_at` text NOT NULL,
	`expires_at` integer NOT NULL,
	CONSTRAINT "audit_events_actor_type" CHECK("audit_events"."actor_type" in ('user', 'command_line', 'server', 'trigger', 'anonymous'))
);
--> statement-breakpoint
CREATE INDEX `audit_events_by_organization` ON `audit_events` (`organization_id`);--> statement-breakpoint
CREATE INDEX `audit_events_by_account` ON `audit_events` (`target_id`) WHERE "audit_events"."organization_id" is null;--> statement-breakpoint
CREATE INDEX `audit_events_by_refusal` ON `audit_events` (`created_at`) WHERE "audit_events"."action" = 'sign_in.refused';--> statement-breakpoint
CREATE INDEX `audit_events_by_expiry` ON `audit_events` (`expires_at`);--> statement-breakpoint
CREATE TABLE `memberships` (
	`user_id` text NOT NULL,
	`organization_id` text NOT NULL,
	`role` text NOT NULL,
	`created_at` text NOT NULL,
	PRIMARY KEY(`user_id`, `organization_id`),
	FOREIGN KEY (`user_id`) REFERENCES `users`(`id`) ON UPDATE no action ON DELETE cascade,
	FOREIGN KEY (`organization_id`) REFERENCES `organizations`(`id`) ON UPDATE no action ON DELETE cascade,
	CONSTRAINT "memberships_role" CHECK("memberships"."role" in ('owner', 'member'))
);
--> statement-breakpoint
CREATE TABLE `one_time_links` (
	`hash` text PRIMARY KEY NOT NULL,
	`purpose` text NOT NULL,
	`user_id` text,
	`organization_id` text,
	`role` text,
	`created_at` text NOT NULL,
	`expires_at` integer NOT NULL,
	FOREIGN KEY (`user_id`) REFERENCES `users`(`id`) ON UPDATE no action ON DELETE cascade,
	FOREIGN KEY (`organization_id`) REFERENCES `organizations`(`id`) ON UPDATE no action ON DELETE cascade,
	CONSTRAINT "one_time_links_purpose" CHECK("one_time_links"."purpose" in ('setup', 'invitation', 'password'))
);
--> statement-breakpoint
CREATE TABLE `organizations` (
	`id` text PRIMARY KEY NOT NULL,
	`name` text NOT NULL,
	`plan` text NOT NULL,
	`created_at` text NOT NULL,
	`deleted_at` text,
	CONSTRAINT "organizations_plan" CHECK("organizations"."plan" in ('free', 'pro'))
);
--> statement-breakpoint
CREATE TABLE `sessions` (
	`hash` text PRIMARY KEY NOT NULL,
	`user_id` text NOT NULL,
	`created_at` text NOT NULL,
	`expires_at` integer NOT NULL,
	`last_used_at` integer DEFAULT 0 NOT NULL,
	`address` text,
	`user_agent` text,
	FOREIGN KEY (`user_id`) REFERENCES `users`(`id`) ON UPDATE no action ON DELETE cascade
);
--> statement-breakpoint
CREATE TABLE `users` (
	`id` text PRIMARY KEY NOT NULL,
	`email` text NOT NULL,
	`password_hash` text,
	`created_at` text NOT NULL,
	`disabled_at` text
);
--> statement-breakpoint
CREATE UNIQUE INDEX `users_email_unique` ON `users` (`email`);--> statement-breakpoint
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
CREATE TABLE `deliveries` (
	`id` text PRIMARY KEY NOT NULL,
	`organization_id` text NOT NULL,
	`integration_id` text NOT NULL,
	`integration_type` text NOT NULL,
	`repository_id` text,
	`title` text NOT NULL,
	`status` text NOT NULL,
	`status_code` integer NOT NULL,
	`reference_id` text,
	`event` text,
	`action` text,
	`data` text,
	`headers` text,
	`reason` text,
	`count` integer NOT NULL,
	`body_hash` blob,
	`same_body_as` text,
	`replay_of` text,
	`is_polled` integer DEFAULT false NOT NULL,
	`duration_ms` integer NOT NULL,
	`retention_days` integer NOT NULL,
	`created_at` text NOT NULL,
	`expires_at` integer NOT NULL,
	CONSTRAINT "deliveries_status" CHECK("deliveries"."status" in ('processed', 'ignored', 'duplicate', 'rejected', 'failed'))
);
--> statement-breakpoint
CREATE INDEX `deliveries_by_organization` ON `deliveries` (`organization_id`,`created_at`,`id`,`status`,`event`,`integration_type`,`is_polled`);--> statement-breakpoint
CREATE INDEX `deliveries_by_integration` ON `deliveries` (`integration_id`,`created_at`,`id`,`status`,`event`,`is_polled`);--> statement-breakpoint
CREATE INDEX `deliveries_by_problem` ON `deliveries` (`organization_id`,`status`,`created_at`,`id`,`integration_id`,`event`,`integration_type`) WHERE "deliveries"."status" <> 'processed';--> statement-breakpoint
CREATE INDEX `deliveries_by_reference` ON `deliveries` (`reference_id`,`integration_id`);--> statement-breakpoint
CREATE INDEX `deliveries_by_body` ON `deliveries` (`integration_id`,`body_hash`) WHERE "deliveries"."body_hash" is not null;--> statement-breakpoint
CREATE INDEX `deliveries_by_expiry` ON `deliveries` (`expires_at`);--> statement-breakpoint
CREATE TABLE `delivery_claims` (
	`integration_id` text NOT NULL,
	`delivery_id` text NOT NULL,
	`expires_at` integer NOT NULL,
	PRIMARY KEY(`integration_id`, `delivery_id`)
);
--> statement-breakpoint
CREATE INDEX `delivery_claims_by_expiry` ON `delivery_claims` (`expires_at`);--> statement-breakpoint
CREATE TABLE `delivery_counts` (
	`organization_id` text NOT NULL,
	`integration_id` text NOT NULL,
	`day` text NOT NULL,
	`status` text NOT NULL,
	`shard` integer NOT NULL,
	`entries` integer NOT NULL,
	`arrivals` integer NOT NULL,
	PRIMARY KEY(`organization_id`, `integration_id`, `day`, `status`, `shard`)
);
--> statement-breakpoint
CREATE TABLE `events` (
	`integration_id` text NOT NULL,
	`repository_id` text NOT NULL,
	`type` text NOT NULL,
	`key` text NOT NULL,
	`release_id` text,
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
CREATE INDEX `releases_by_branch` ON `events` (`integration_id`,`repository_id`,`branch`,`occurred_at`,`key`) WHERE "events"."type" = 'release';--> statement-breakpoint
CREATE UNIQUE INDEX `releases_by_id` ON `events` (`integration_id`,`repository_id`,`release_id`) WHERE "events"."release_id" is not null;--> statement-breakpoint
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
	`known_until` text,
	`recover_at` integer,
	`recovery` text,
	`created_at` text NOT NULL,
	PRIMARY KEY(`integration_id`, `place_id`),
	FOREIGN KEY (`integration_id`) REFERENCES `integrations`(`id`) ON UPDATE no action ON DELETE cascade,
	FOREIGN KEY (`repository_id`) REFERENCES `repositories`(`id`) ON UPDATE no action ON DELETE cascade
);
--> statement-breakpoint
CREATE TABLE `integrations` (
	`id` text PRIMARY KEY NOT NULL,
	`organization_id` text NOT NULL,
	`type` text NOT NULL,
	`enabled` integer NOT NULL,
	`secret` blob NOT NULL,
	`previous_secret` blob,
	`previous_secret_until` text,
	`token` blob,
	`is_polled` integer DEFAULT false NOT NULL,
	`created_at` text NOT NULL,
	FOREIGN KEY (`organization_id`) REFERENCES `organizations`(`id`) ON UPDATE no action ON DELETE cascade
);
--> statement-breakpoint
CREATE INDEX `integrations_by_organization` ON `integrations` (`organization_id`,`created_at`);--> statement-breakpoint
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
CREATE TABLE `repositories` (
	`id` text PRIMARY KEY NOT NULL,
	`integration_id` text NOT NULL,
	`full_name` text NOT NULL,
	`provider_id` integer,
	`created_at` text NOT NULL,
	FOREIGN KEY (`integration_id`) REFERENCES `integrations`(`id`) ON UPDATE no action ON DELETE cascade
);
--> statement-breakpoint
CREATE UNIQUE INDEX `repositories_by_provider_id` ON `repositories` (`integration_id`,`provider_id`);--> statement-breakpoint
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
CREATE INDEX `delivery_results_unsettled` ON `delivery_results` (`trigger_id`,`scope`) WHERE "delivery_results"."outcome" in ('queued', 'failed', 'waiting');--> statement-breakpoint
CREATE INDEX `delivery_results_by_expiry` ON `delivery_results` (`expires_at`);--> statement-breakpoint
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
	`source` text,
	`left_out` text NOT NULL,
	PRIMARY KEY(`trigger_id`, `scope`, `subject`),
	FOREIGN KEY (`trigger_id`) REFERENCES `triggers`(`id`) ON UPDATE no action ON DELETE cascade
);
--> statement-breakpoint
CREATE INDEX `drafts_by_subject` ON `drafts` (`trigger_id`,`subject`);--> statement-breakpoint
CREATE INDEX `drafts_by_post` ON `drafts` (`post_id`);--> statement-breakpoint
CREATE INDEX `drafts_with_suggestion` ON `drafts` (`post_id`) WHERE "drafts"."suggestion" is not null;--> statement-breakpoint
CREATE TABLE `trigger_events` (
	`trigger_id` text NOT NULL,
	`repository_id` text NOT NULL,
	`type` text NOT NULL,
	`key` text NOT NULL,
	`is_match` integer NOT NULL,
	`draft_only` integer NOT NULL,
	`publish` integer DEFAULT false NOT NULL,
	PRIMARY KEY(`trigger_id`, `repository_id`, `type`, `key`),
	FOREIGN KEY (`trigger_id`) REFERENCES `triggers`(`id`) ON UPDATE no action ON DELETE cascade
);
--> statement-breakpoint
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
	FOREIGN KEY (`repository_id`) REFERENCES `repositories`(`id`) ON UPDATE no action ON DELETE cascade
);
--> statement-breakpoint
CREATE UNIQUE INDEX `triggers_rule_unique` ON `triggers` (`rule`);--> statement-breakpoint
CREATE INDEX `triggers_by_integration` ON `triggers` (`integration_id`);--> statement-breakpoint
CREATE TABLE `roundup_changes` (
	`roundup_id` text NOT NULL,
	`key` text NOT NULL,
	`integration_id` text NOT NULL,
	`repository_id` text NOT NULL,
	`event` text NOT NULL,
	`claimed_at` text NOT NULL,
	`post_id` text,
	PRIMARY KEY(`roundup_id`, `key`),
	FOREIGN KEY (`roundup_id`) REFERENCES `roundups`(`id`) ON UPDATE no action ON DELETE cascade
);
--> statement-breakpoint
CREATE INDEX `roundup_changes_pending` ON `roundup_changes` (`roundup_id`,`claimed_at`,`event`,`key`) WHERE "roundup_changes"."post_id" is null;--> statement-breakpoint
CREATE TABLE `roundup_posts` (
	`post_id` text PRIMARY KEY NOT NULL,
	`roundup_id` text NOT NULL,
	`made_at` text NOT NULL,
	`left_out` text NOT NULL,
	FOREIGN KEY (`roundup_id`) REFERENCES `roundups`(`id`) ON UPDATE no action ON DELETE cascade
);
--> statement-breakpoint
CREATE INDEX `roundup_posts_by_time` ON `roundup_posts` (`roundup_id`,`made_at`);--> statement-breakpoint
CREATE TABLE `roundup_sources` (
	`roundup_id` text NOT NULL,
	`position` integer NOT NULL,
	`integration_id` text NOT NULL,
	`repository_id` text,
	`team` text,
	PRIMARY KEY(`roundup_id`, `position`),
	FOREIGN KEY (`roundup_id`) REFERENCES `roundups`(`id`) ON UPDATE no action ON DELETE cascade,
	FOREIGN KEY (`integration_id`) REFERENCES `integrations`(`id`) ON UPDATE no action ON DELETE cascade,
	FOREIGN KEY (`repository_id`) REFERENCES `repositories`(`id`) ON UPDATE no action ON DELETE cascade
);
--> statement-breakpoint
CREATE INDEX `roundup_sources_by_integration` ON `roundup_sources` (`integration_id`);--> statement-breakpoint
CREATE TABLE `roundups` (
	`id` text PRIMARY KEY NOT NULL,
	`organization_id` text NOT NULL,
	`name` text NOT NULL,
	`cadence` text NOT NULL,
	`weekday` integer NOT NULL,
	`time` text NOT NULL,
	`time_zone` text NOT NULL,
	`starts_on` text NOT NULL,
	`group_by` text NOT NULL,
	`when_empty` text NOT NULL,
	`content_type` text NOT NULL,
	`enabled` integer NOT NULL,
	`next_at` integer NOT NULL,
	`created_at` text NOT NULL,
	`updated_at` text NOT NULL,
	FOREIGN KEY (`organization_id`) REFERENCES `organizations`(`id`) ON UPDATE no action ON DELETE cascade,
	CONSTRAINT "roundups_cadence" CHECK("roundups"."cadence" in ('weekly', 'biweekly', 'monthly')),
	CONSTRAINT "roundups_group_by" CHECK("roundups"."group_by" in ('repository', 'kind')),
	CONSTRAINT "roundups_when_empty" CHECK("roundups"."when_empty" in ('skip', 'line'))
);
--> statement-breakpoint
CREATE INDEX `roundups_by_organization` ON `roundups` (`organization_id`,`created_at`);--> statement-breakpoint
CREATE INDEX `roundups_due` ON `roundups` (`next_at`);--> statement-breakpoint
CREATE TABLE `hook_attempts` (
	`id` text PRIMARY KEY NOT NULL,
	`message_id` text NOT NULL,
	`started_at` text NOT NULL,
	`duration_ms` integer NOT NULL,
	`status_code` integer,
	`problem` text,
	`response` text,
	FOREIGN KEY (`message_id`) REFERENCES `hook_messages`(`id`) ON UPDATE no action ON DELETE cascade
);
--> statement-breakpoint
CREATE INDEX `hook_attempts_by_message` ON `hook_attempts` (`message_id`,`started_at`);--> statement-breakpoint
CREATE TABLE `hook_messages` (
	`id` text PRIMARY KEY NOT NULL,
	`hook_id` text NOT NULL,
	`organization_id` text NOT NULL,
	`post_id` text NOT NULL,
	`number` integer NOT NULL,
	`type` text NOT NULL,
	`title` text NOT NULL,
	`post_created_at` text NOT NULL,
	`url` text,
	`notice` text,
	`state` text NOT NULL,
	`attempts` integer NOT NULL,
	`due_at` integer NOT NULL,
	`created_at` text,
	`expires_at` integer,
	FOREIGN KEY (`hook_id`) REFERENCES `rebuild_hooks`(`id`) ON UPDATE no action ON DELETE cascade,
	CONSTRAINT "hook_messages_type" CHECK("hook_messages"."type" in ('post.published', 'post.changed', 'post.unpublished', 'post.deleted', 'attention.began', 'attention.ended', 'attention.summary')),
	CONSTRAINT "hook_messages_state" CHECK("hook_messages"."state" in ('queued', 'sent', 'failed', 'merged'))
);
--> statement-breakpoint
CREATE UNIQUE INDEX `hook_messages_by_post` ON `hook_messages` (`hook_id`,`post_id`,`number`);--> statement-breakpoint
CREATE INDEX `hook_messages_queued` ON `hook_messages` (`due_at`) WHERE "hook_messages"."state" = 'queued';--> statement-breakpoint
CREATE INDEX `hook_messages_queued_by_hook` ON `hook_messages` (`hook_id`,`due_at`) WHERE "hook_messages"."state" = 'queued';--> statement-breakpoint
CREATE INDEX `hook_messages_by_expiry` ON `hook_messages` (`expires_at`);--> statement-breakpoint
CREATE TABLE `publications` (
	`organization_id` text PRIMARY KEY NOT NULL,
	`slug` text NOT NULL,
	`is_page_on` integer NOT NULL,
	`is_feed_on` integer NOT NULL,
	`is_mcp_on` integer NOT NULL,
	`title` text NOT NULL,
	`description` text NOT NULL,
	`accent_color` text NOT NULL,
	`logo_id` text,
	`links` text NOT NULL,
	`address` text,
	`version` text NOT NULL,
	`updated_at` text NOT NULL,
	FOREIGN KEY (`organization_id`) REFERENCES `organizations`(`id`) ON UPDATE no action ON DELETE cascade,
	FOREIGN KEY (`logo_id`) REFERENCES `media`(`id`) ON UPDATE no action ON DELETE set null
);
--> statement-breakpoint
CREATE UNIQUE INDEX `publications_by_slug` ON `publications` (`slug`);--> statement-breakpoint
CREATE TABLE `rebuild_hooks` (
	`id` text PRIMARY KEY NOT NULL,
	`organization_id` text NOT NULL,
	`name` text NOT NULL,
	`kind` text NOT NULL,
	`about` text DEFAULT 'posts' NOT NULL,
	`url` text NOT NULL,
	`host` text NOT NULL,
	`secret` text,
	`is_enabled` integer NOT NULL,
	`created_at` text NOT NULL,
	`held` text,
	FOREIGN KEY (`organization_id`) REFERENCES `organizations`(`id`) ON UPDATE no action ON DELETE cascade,
	CONSTRAINT "rebuild_hooks_kind" CHECK("rebuild_hooks"."kind" in ('signed', 'netlify', 'vercel', 'cloudflare', 'slack', 'discord')),
	CONSTRAINT "rebuild_hooks_about" CHECK("rebuild_hooks"."about" in ('posts', 'attention', 'attention-and-server'))
);
--> statement-breakpoint
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
--> statement-breakpoint
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
CREATE TABLE `server_runs` (
	`id` text PRIMARY KEY NOT NULL,
	`public_url` text NOT NULL,
	`started_at` text NOT NULL,
	`alive_at` text NOT NULL,
	`process` text
);
--> statement-breakpoint
CREATE TABLE `throttles` (
	`key` text PRIMARY KEY NOT NULL,
	`full_at` integer NOT NULL
);
--> statement-breakpoint
CREATE INDEX `throttles_by_time` ON `throttles` (`full_at`,`key`);--> statement-breakpoint
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
	CONSTRAINT "deleted_posts_created_at" CHECK(length("deleted_posts"."created_at") = 24),
	CONSTRAINT "deleted_posts_updated_at" CHECK(length("deleted_posts"."updated_at") = 24)
);
--> statement-breakpoint
CREATE INDEX `deleted_posts_by_organization` ON `deleted_posts` (`organization_id`,`deleted_at`,`id`);--> statement-breakpoint
CREATE INDEX `deleted_posts_by_expiry` ON `deleted_posts` (`expires_at`);--> statement-breakpoint
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
CREATE TABLE `post_counts` (
	`organization_id` text NOT NULL,
	`status` text NOT NULL,
	`content_type` text NOT NULL,
	`count` integer NOT NULL,
	`version` text NOT NULL,
	PRIMARY KEY(`organization_id`, `status`, `content_type`)
);
--> statement-breakpoint
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
CREATE TABLE `post_suggestions` (
	`id` text PRIMARY KEY NOT NULL,
	`post_id` text NOT NULL,
	`organization_id` text NOT NULL,
	`key_id` text NOT NULL,
	`key_name` text NOT NULL,
	`title` text,
	`markdown` text,
	`note` text NOT NULL,
	`created_at` text NOT NULL,
	FOREIGN KEY (`organization_id`) REFERENCES `organizations`(`id`) ON UPDATE no action ON DELETE cascade
);
--> statement-breakpoint
CREATE INDEX `post_suggestions_by_post` ON `post_suggestions` (`post_id`,`created_at`,`id`);--> statement-breakpoint
CREATE INDEX `post_suggestions_by_organization` ON `post_suggestions` (`organization_id`,`created_at`,`id`);--> statement-breakpoint
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
	`is_autosave` integer DEFAULT false NOT NULL,
	FOREIGN KEY (`organization_id`) REFERENCES `organizations`(`id`) ON UPDATE no action ON DELETE cascade,
	CONSTRAINT "post_versions_origin" CHECK("post_versions"."origin" in ('edit', 'restore', 'suggestion', 'trigger', 'import'))
);
--> statement-breakpoint
CREATE INDEX `post_versions_by_post` ON `post_versions` (`post_id`,`created_at`,`id`);--> statement-breakpoint
CREATE TABLE `posts` (
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
	`search_words` text,
	`is_public` integer DEFAULT false NOT NULL,
	FOREIGN KEY (`organization_id`) REFERENCES `organizations`(`id`) ON UPDATE no action ON DELETE cascade,
	CONSTRAINT "posts_status" CHECK("posts"."status" in ('draft', 'published')),
	CONSTRAINT "posts_created_at" CHECK(length("posts"."created_at") = 24),
	CONSTRAINT "posts_updated_at" CHECK(length("posts"."updated_at") = 24)
);
--> statement-breakpoint
CREATE INDEX `posts_by_date` ON `posts` (`organization_id`,`created_at`,`id`);--> statement-breakpoint
CREATE INDEX `posts_by_status` ON `posts` (`organization_id`,`status`,`created_at`,`id`);--> statement-breakpoint
CREATE INDEX `posts_by_type` ON `posts` (`organization_id`,`content_type`,`created_at`,`id`);--> statement-breakpoint
CREATE INDEX `posts_by_status_and_type` ON `posts` (`organization_id`,`status`,`content_type`,`created_at`,`id`);
--> statement-breakpoint
CREATE TABLE `token_states` (
	`integration_id` text PRIMARY KEY NOT NULL,
	`expires_at` text,
	`problem` text,
	`problem_since` text,
	`due_at` integer NOT NULL,
	FOREIGN KEY (`integration_id`) REFERENCES `integrations`(`id`) ON UPDATE no action ON DELETE cascade
);
--> statement-breakpoint
CREATE TABLE `silences` (
	`integration_id` text NOT NULL,
	`repository_id` text NOT NULL,
	`since` text,
	`is_proven` integer NOT NULL,
	`due_at` integer NOT NULL,
	PRIMARY KEY(`integration_id`, `repository_id`),
	FOREIGN KEY (`integration_id`) REFERENCES `integrations`(`id`) ON UPDATE no action ON DELETE cascade
);
--> statement-breakpoint
CREATE TABLE `attention` (
	`id` text PRIMARY KEY NOT NULL,
	`organization_id` text,
	`kind` text NOT NULL,
	`subject` text NOT NULL,
	`since` text NOT NULL,
	`count` integer NOT NULL,
	`message` text NOT NULL,
	`effect` text NOT NULL,
	`action` text NOT NULL,
	`path` text,
	`muted_until` text,
	FOREIGN KEY (`organization_id`) REFERENCES `organizations`(`id`) ON UPDATE no action ON DELETE cascade
);
--> statement-breakpoint
-- Numbers that the search index keeps; the rowid of a post may change.
CREATE TABLE `post_numbers` (
	`number` integer PRIMARY KEY NOT NULL,
	`post_id` text NOT NULL UNIQUE
);
--> statement-breakpoint
CREATE VIEW `post_texts` AS
	SELECT `post_numbers`.`number`, hex(`organization_id`) || ' ' || `status` || ' ' || `content_type` AS `about`, `title`, `content`, `search_words`
	FROM `post_numbers` JOIN `posts` ON `posts`.`id` = `post_numbers`.`post_id`;
--> statement-breakpoint
CREATE VIRTUAL TABLE `post_search` USING fts5(
	`about`, `title`, `content`, `search_words`,
	content='post_texts', content_rowid='number', tokenize='unicode61 remove_diacritics 2'
);
--> statement-breakpoint
INSERT INTO `post_search` (`post_search`, `rank`) VALUES ('pgsz', 1000);
--> statement-breakpoint
-- Every way of writing a post keeps `post_counts` and the search index, and gives each hook a message about what readers
-- see. The version of a count is random, so that it never returns.
CREATE TRIGGER `posts_inserted` AFTER INSERT ON `posts` BEGIN
	INSERT INTO `post_counts` (`organization_id`, `status`, `content_type`, `count`, `version`)
	VALUES (new.`organization_id`, new.`status`, new.`content_type`, 1, lower(hex(randomblob(8))))
	ON CONFLICT DO UPDATE SET `count` = `count` + 1, `version` = excluded.`version`;
	INSERT INTO `post_numbers` (`post_id`) VALUES (new.`id`);
	INSERT INTO `post_search` (`rowid`, `about`, `title`, `content`, `search_words`)
	SELECT `number`, hex(new.`organization_id`) || ' ' || new.`status` || ' ' || new.`content_type`, new.`title`, new.`content`, new.`search_words`
	FROM `post_numbers` WHERE `post_id` = new.`id`;
	INSERT INTO `hook_messages` (`id`, `hook_id`, `organization_id`, `post_id`, `number`, `type`, `title`, `post_created_at`, `state`, `attempts`, `due_at`)
	SELECT 'msg_' || lower(hex(randomblob(16))), `rebuild_hooks`.`id`, new.`organization_id`, new.`id`,
		(SELECT coalesce(max(`number`), 0) + 1 FROM `hook_messages` WHERE `hook_id` = `rebuild_hooks`.`id` AND `post_id` = new.`id`),
		'post.published', new.`title`, new.`created_at`, 'queued', 0, 0
	FROM `rebuild_hooks` WHERE new.`is_public` = 1 AND `organization_id` = new.`organization_id` AND `is_enabled` = 1 AND `about` = 'posts';
END;
--> statement-breakpoint
CREATE TRIGGER `posts_deleted` AFTER DELETE ON `posts` BEGIN
	UPDATE `post_counts` SET `count` = `count` - 1, `version` = lower(hex(randomblob(8)))
	WHERE `organization_id` = old.`organization_id` AND `status` = old.`status` AND `content_type` = old.`content_type`;
	INSERT INTO `post_search` (`post_search`, `rowid`, `about`, `title`, `content`, `search_words`)
	SELECT 'delete', `number`, hex(old.`organization_id`) || ' ' || old.`status` || ' ' || old.`content_type`, old.`title`, old.`content`, old.`search_words`
	FROM `post_numbers` WHERE `post_id` = old.`id`;
	DELETE FROM `post_numbers` WHERE `post_id` = old.`id`;
	INSERT INTO `hook_messages` (`id`, `hook_id`, `organization_id`, `post_id`, `number`, `type`, `title`, `post_created_at`, `state`, `attempts`, `due_at`)
	SELECT 'msg_' || lower(hex(randomblob(16))), `rebuild_hooks`.`id`, old.`organization_id`, old.`id`,
		(SELECT coalesce(max(`number`), 0) + 1 FROM `hook_messages` WHERE `hook_id` = `rebuild_hooks`.`id` AND `post_id` = old.`id`),
		'post.deleted', old.`title`, old.`created_at`, 'queued', 0, 0
	FROM `rebuild_hooks` WHERE old.`is_public` = 1 AND `organization_id` = old.`organization_id` AND `is_enabled` = 1 AND `about` = 'posts';
END;
--> statement-breakpoint
CREATE TRIGGER `posts_updated` AFTER UPDATE ON `posts` BEGIN
	UPDATE `post_counts` SET `count` = `count` - 1, `version` = lower(hex(randomblob(8)))
	WHERE `organization_id` = old.`organization_id` AND `status` = old.`status` AND `content_type` = old.`content_type`;
	INSERT INTO `post_counts` (`organization_id`, `status`, `content_type`, `count`, `version`)
	VALUES (new.`organization_id`, new.`status`, new.`content_type`, 1, lower(hex(randomblob(8))))
	ON CONFLICT DO UPDATE SET `count` = `count` + 1, `version` = excluded.`version`;
	INSERT INTO `hook_messages` (`id`, `hook_id`, `organization_id`, `post_id`, `number`, `type`, `title`, `post_created_at`, `state`, `attempts`, `due_at`)
	SELECT 'msg_' || lower(hex(randomblob(16))), `rebuild_hooks`.`id`, new.`organization_id`, new.`id`,
		(SELECT coalesce(max(`number`), 0) + 1 FROM `hook_messages` WHERE `hook_id` = `rebuild_hooks`.`id` AND `post_id` = new.`id`),
		CASE WHEN new.`is_public` = 0 THEN 'post.unpublished' WHEN old.`is_public` = 1 THEN 'post.changed' ELSE 'post.published' END,
		CASE new.`is_public` WHEN 1 THEN new.`title` ELSE old.`title` END,
		CASE new.`is_public` WHEN 1 THEN new.`created_at` ELSE old.`created_at` END,
		'queued', 0, 0
	FROM `rebuild_hooks` WHERE 1 IN (old.`is_public`, new.`is_public`)
	AND (old.`is_public`, old.`content_type`, old.`title`, old.`markdown`, old.`content`, old.`created_at`, old.`source_metadata`)
		IS NOT (new.`is_public`, new.`content_type`, new.`title`, new.`markdown`, new.`content`, new.`created_at`, new.`source_metadata`)
	AND `organization_id` = new.`organization_id` AND `is_enabled` = 1 AND `about` = 'posts';
END;
--> statement-breakpoint
CREATE TRIGGER `posts_searchable` AFTER UPDATE ON `posts`
WHEN (old.`title`, old.`content`, old.`status`, old.`content_type`, old.`search_words`)
	IS NOT (new.`title`, new.`content`, new.`status`, new.`content_type`, new.`search_words`) BEGIN
	INSERT INTO `post_search` (`post_search`, `rowid`, `about`, `title`, `content`, `search_words`)
	SELECT 'delete', `number`, hex(old.`organization_id`) || ' ' || old.`status` || ' ' || old.`content_type`, old.`title`, old.`content`, old.`search_words`
	FROM `post_numbers` WHERE `post_id` = old.`id`;
	INSERT INTO `post_search` (`rowid`, `about`, `title`, `content`, `search_words`)
	SELECT `number`, hex(new.`organization_id`) || ' ' || new.`status` || ' ' || new.`content_type`, new.`title`, new.`content`, new.`search_words`
	FROM `post_numbers` WHERE `post_id` = new.`id`;
END;
--> statement-breakpoint
-- `delivery_counts` follows the log.
CREATE TRIGGER `deliveries_counted_on_insert` AFTER INSERT ON `deliveries` BEGIN
	INSERT INTO `delivery_counts` (`organization_id`, `integration_id`, `day`, `status`, `shard`, `entries`, `arrivals`)
	VALUES (new.`organization_id`, new.`integration_id`, substr(new.`created_at`, 1, 10), new.`status`, 0, 1, new.`count`)
	ON CONFLICT DO UPDATE SET `entries` = `entries` + 1, `arrivals` = `arrivals` + excluded.`arrivals`;
END;
--> statement-breakpoint
CREATE TRIGGER `deliveries_counted_on_update` AFTER UPDATE OF `count` ON `deliveries` BEGIN
	UPDATE `delivery_counts` SET `arrivals` = `arrivals` + new.`count` - old.`count`
	WHERE `organization_id` = old.`organization_id` AND `integration_id` = old.`integration_id`
		AND `day` = substr(old.`created_at`, 1, 10) AND `status` = old.`status` AND `shard` = 0;
END;
--> statement-breakpoint
CREATE TRIGGER `deliveries_counted_on_delete` AFTER DELETE ON `deliveries` BEGIN
	UPDATE `delivery_counts` SET `entries` = `entries` - 1, `arrivals` = `arrivals` - old.`count`
	WHERE `organization_id` = old.`organization_id` AND `integration_id` = old.`integration_id`
		AND `day` = substr(old.`created_at`, 1, 10) AND `status` = old.`status` AND `shard` = 0;
END;
