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
	`state` text NOT NULL,
	`attempts` integer NOT NULL,
	`due_at` integer NOT NULL,
	`created_at` text,
	`expires_at` integer,
	FOREIGN KEY (`hook_id`) REFERENCES `rebuild_hooks`(`id`) ON UPDATE no action ON DELETE cascade,
	CONSTRAINT "hook_messages_type" CHECK("hook_messages"."type" in ('post.published', 'post.changed', 'post.unpublished', 'post.deleted')),
	CONSTRAINT "hook_messages_state" CHECK("hook_messages"."state" in ('queued', 'sent', 'failed', 'merged'))
);
--> statement-breakpoint
CREATE UNIQUE INDEX `hook_messages_by_post` ON `hook_messages` (`hook_id`,`post_id`,`number`);--> statement-breakpoint
CREATE INDEX `hook_messages_queued` ON `hook_messages` (`due_at`) WHERE "hook_messages"."state" = 'queued';--> statement-breakpoint
CREATE INDEX `hook_messages_queued_by_hook` ON `hook_messages` (`hook_id`,`due_at`) WHERE "hook_messages"."state" = 'queued';--> statement-breakpoint
CREATE INDEX `hook_messages_by_date` ON `hook_messages` (`hook_id`,`created_at`);--> statement-breakpoint
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
	`url` text NOT NULL,
	`host` text NOT NULL,
	`secret` text,
	`is_enabled` integer NOT NULL,
	`created_at` text NOT NULL,
	FOREIGN KEY (`organization_id`) REFERENCES `organizations`(`id`) ON UPDATE no action ON DELETE cascade,
	CONSTRAINT "rebuild_hooks_kind" CHECK("rebuild_hooks"."kind" in ('signed', 'netlify', 'vercel', 'cloudflare', 'slack', 'discord'))
);
--> statement-breakpoint
CREATE INDEX `rebuild_hooks_by_organization` ON `rebuild_hooks` (`organization_id`,`created_at`);--> statement-breakpoint
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
CREATE TRIGGER `posts_announced_on_insert` AFTER INSERT ON `posts`
WHEN new.`status` = 'published' AND new.`content_type` = 'changelog' BEGIN
	INSERT INTO `hook_messages` (`id`, `hook_id`, `organization_id`, `post_id`, `number`, `type`, `title`, `post_created_at`, `state`, `attempts`, `due_at`)
	SELECT 'msg_' || lower(hex(randomblob(16))), `rebuild_hooks`.`id`, new.`organization_id`, new.`id`,
		(SELECT coalesce(max(`number`), 0) + 1 FROM `hook_messages` WHERE `hook_id` = `rebuild_hooks`.`id` AND `post_id` = new.`id`),
		'post.published', new.`title`, new.`created_at`, 'queued', 0, 0
	FROM `rebuild_hooks` WHERE `organization_id` = new.`organization_id` AND `is_enabled` = 1;
END;
--> statement-breakpoint
CREATE TRIGGER `posts_announced_on_update` AFTER UPDATE ON `posts`
WHEN (old.`status` = 'published' AND old.`content_type` = 'changelog' OR new.`status` = 'published' AND new.`content_type` = 'changelog')
AND (old.`status`, old.`content_type`, old.`title`, old.`markdown`, old.`content`, old.`created_at`, old.`source_metadata`)
	IS NOT (new.`status`, new.`content_type`, new.`title`, new.`markdown`, new.`content`, new.`created_at`, new.`source_metadata`) BEGIN
	INSERT INTO `hook_messages` (`id`, `hook_id`, `organization_id`, `post_id`, `number`, `type`, `title`, `post_created_at`, `state`, `attempts`, `due_at`)
	SELECT 'msg_' || lower(hex(randomblob(16))), `rebuild_hooks`.`id`, new.`organization_id`, new.`id`,
		(SELECT coalesce(max(`number`), 0) + 1 FROM `hook_messages` WHERE `hook_id` = `rebuild_hooks`.`id` AND `post_id` = new.`id`),
		CASE
			WHEN new.`status` <> 'published' OR new.`content_type` <> 'changelog' THEN 'post.unpublished'
			WHEN old.`status` = 'published' AND old.`content_type` = 'changelog' THEN 'post.changed'
			ELSE 'post.published'
		END,
		CASE WHEN new.`status` = 'published' AND new.`content_type` = 'changelog' THEN new.`title` ELSE old.`title` END,
		CASE WHEN new.`status` = 'published' AND new.`content_type` = 'changelog' THEN new.`created_at` ELSE old.`created_at` END,
		'queued', 0, 0
	FROM `rebuild_hooks` WHERE `organization_id` = new.`organization_id` AND `is_enabled` = 1;
END;
--> statement-breakpoint
CREATE TRIGGER `posts_announced_on_delete` AFTER DELETE ON `posts`
WHEN old.`status` = 'published' AND old.`content_type` = 'changelog' BEGIN
	INSERT INTO `hook_messages` (`id`, `hook_id`, `organization_id`, `post_id`, `number`, `type`, `title`, `post_created_at`, `state`, `attempts`, `due_at`)
	SELECT 'msg_' || lower(hex(randomblob(16))), `rebuild_hooks`.`id`, old.`organization_id`, old.`id`,
		(SELECT coalesce(max(`number`), 0) + 1 FROM `hook_messages` WHERE `hook_id` = `rebuild_hooks`.`id` AND `post_id` = old.`id`),
		'post.deleted', old.`title`, old.`created_at`, 'queued', 0, 0
	FROM `rebuild_hooks` WHERE `organization_id` = old.`organization_id` AND `is_enabled` = 1;
END;
