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
CREATE TABLE `imports` (
	`id` text PRIMARY KEY NOT NULL,
	`organization_id` text NOT NULL,
	`state` text NOT NULL,
	`beat_at` integer NOT NULL,
	FOREIGN KEY (`organization_id`) REFERENCES `organizations`(`id`) ON UPDATE no action ON DELETE cascade,
	CONSTRAINT "imports_state" CHECK("imports"."state" in ('staging', 'applying'))
);
--> statement-breakpoint
CREATE TABLE `staged_posts` (
	`id` text PRIMARY KEY NOT NULL,
	`organization_id` text NOT NULL,
	`piece` integer NOT NULL,
	`status` text NOT NULL,
	`content_type` text NOT NULL,
	`created_at` text NOT NULL,
	`updated_at` text NOT NULL,
	`json` blob GENERATED ALWAYS AS (cast(json_object('id', id, 'title', title, 'content', content, 'markdown', markdown, 'contentType', content_type, 'sourceMetadata', json(source_metadata), 'status', status, 'createdAt', created_at, 'updatedAt', updated_at) as blob)) VIRTUAL NOT NULL,
	`title` text NOT NULL,
	`content` text NOT NULL,
	`markdown` text NOT NULL,
	`source_metadata` text,
	FOREIGN KEY (`organization_id`) REFERENCES `organizations`(`id`) ON UPDATE no action ON DELETE cascade,
	CONSTRAINT "staged_posts_status" CHECK("staged_posts"."status" in ('draft', 'published')),
	CONSTRAINT "staged_posts_content_type" CHECK("staged_posts"."content_type" in ('changelog', 'linkedin_post')),
	CONSTRAINT "staged_posts_created_at" CHECK(length("staged_posts"."created_at") = 24),
	CONSTRAINT "staged_posts_updated_at" CHECK(length("staged_posts"."updated_at") = 24)
);
--> statement-breakpoint
CREATE INDEX `staged_posts_by_piece` ON `staged_posts` (`piece`);--> statement-breakpoint
CREATE INDEX `staged_posts_by_date` ON `staged_posts` (`organization_id`,`created_at`,`id`,`status`,`content_type`);--> statement-breakpoint
CREATE TABLE `trigger_events` (
	`trigger_id` text NOT NULL,
	`repository_id` text NOT NULL,
	`type` text NOT NULL,
	`key` text NOT NULL,
	`is_match` integer NOT NULL,
	`draft_only` integer NOT NULL,
	PRIMARY KEY(`trigger_id`, `repository_id`, `type`, `key`),
	FOREIGN KEY (`trigger_id`) REFERENCES `triggers`(`id`) ON UPDATE no action ON DELETE cascade
);
--> statement-breakpoint
ALTER TABLE `sessions` ADD `last_used_at` integer DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE `sessions` ADD `address` text;--> statement-breakpoint
ALTER TABLE `sessions` ADD `user_agent` text;--> statement-breakpoint
ALTER TABLE `users` ADD `disabled_at` text;--> statement-breakpoint
ALTER TABLE `repositories` ADD `provider_id` integer;--> statement-breakpoint
CREATE UNIQUE INDEX `repositories_by_provider_id` ON `repositories` (`integration_id`,`provider_id`);--> statement-breakpoint
UPDATE `sessions` SET
	`last_used_at` = max(`expires_at` - 2592000000, 0),
	`expires_at` = min(`expires_at`, coalesce(unixepoch(`created_at`) * 1000 + 7776000000, 0));
--> statement-breakpoint
CREATE TRIGGER `staged_posts_counted_on_insert` AFTER INSERT ON `staged_posts` BEGIN
	INSERT INTO `post_counts` (`organization_id`, `status`, `content_type`, `count`, `version`)
	SELECT `id`, new.`status`, new.`content_type`, 1, '' FROM `imports` WHERE true
	ON CONFLICT DO UPDATE SET `count` = `count` + 1;
	INSERT INTO `post_counts` (`organization_id`, `status`, `content_type`, `count`, `version`)
	SELECT `imports`.`id`, `posts`.`status`, `posts`.`content_type`, -1, '' FROM `imports`, `posts` WHERE `posts`.`id` = new.`id`
	ON CONFLICT DO UPDATE SET `count` = `count` - 1;
END;
--> statement-breakpoint
CREATE TRIGGER `staged_posts_counted_on_delete` AFTER DELETE ON `staged_posts` BEGIN
	UPDATE `post_counts` SET `count` = `count` - 1, `version` = lower(hex(randomblob(8)))
	WHERE `organization_id` = (SELECT iif(`state` = 'applying', `organization_id`, `id`) FROM `imports`)
	AND `status` = old.`status` AND `content_type` = old.`content_type`;
	UPDATE `post_counts` SET `count` = `count` + 1, `version` = lower(hex(randomblob(8)))
	WHERE `organization_id` = (SELECT iif(`state` = 'applying', `organization_id`, `id`) FROM `imports`)
	AND (`status`, `content_type`) = (SELECT `status`, `content_type` FROM `posts` WHERE `id` = old.`id`);
END;
--> statement-breakpoint
CREATE TRIGGER `imports_counted_on_apply` AFTER UPDATE OF `state` ON `imports` WHEN old.`state` = 'staging' AND new.`state` = 'applying' BEGIN
	INSERT INTO `post_counts` (`organization_id`, `status`, `content_type`, `count`, `version`)
	SELECT new.`organization_id`, `status`, `content_type`, `count`, lower(hex(randomblob(8))) FROM `post_counts` WHERE `organization_id` = new.`id`
	ON CONFLICT DO UPDATE SET `count` = `count` + excluded.`count`, `version` = excluded.`version`;
	DELETE FROM `post_counts` WHERE `organization_id` = new.`id`;
END;
--> statement-breakpoint
CREATE TRIGGER `imports_counted_on_delete` AFTER DELETE ON `imports` BEGIN
	DELETE FROM `post_counts` WHERE `organization_id` = old.`id`;
END;
--> statement-breakpoint
-- Drafts and suggestions from before keep changing with their events.
INSERT OR IGNORE INTO trigger_events (trigger_id, repository_id, type, key, is_match, draft_only)
SELECT told.trigger_id,
	iif(triggers.event IN ('release', 'push', 'pull_request'), substr(told.scope, 1, instr(told.scope, ' ') - 1), ''),
	substr(each.value, 1, instr(each.value, ' ') - 1),
	substr(each.value, instr(each.value, ' ') + 1),
	1, 0
FROM (
	SELECT trigger_id, scope, event_keys FROM drafts
	UNION ALL
	SELECT trigger_id, scope, iif(json_valid(suggestion), json_extract(suggestion, '$.eventKeys'), NULL) FROM drafts
) AS told
JOIN triggers ON triggers.id = told.trigger_id
JOIN json_each(told.event_keys) AS each
WHERE substr(each.value, 1, instr(each.value, ' ') - 1) = triggers.event
	OR (triggers.event = 'push' AND each.value LIKE 'pull_request %');
--> statement-breakpoint
-- Runs that are not done keep the events that queued them. A delivery enters the log up to minutes before its run is
-- queued. Where the trigger has been changed since, nobody knows whether it was enabled all the time: its posts wait
-- as drafts.
INSERT OR IGNORE INTO trigger_events (trigger_id, repository_id, type, key, is_match, draft_only)
SELECT triggers.id, events.repository_id, events.type, events.key, 1,
	max(triggers.updated_at >= strftime('%Y-%m-%dT%H:%M:%fZ', trigger_runs.queued_at, '-10 minutes'))
FROM trigger_runs
JOIN triggers ON triggers.id = trigger_runs.trigger_id
JOIN deliveries ON deliveries.integration_id = triggers.integration_id
	AND deliveries.created_at >= strftime('%Y-%m-%dT%H:%M:%fZ', trigger_runs.queued_at, '-10 minutes')
	AND (triggers.enabled OR deliveries.created_at <= triggers.updated_at)
JOIN events ON events.integration_id = triggers.integration_id
	AND events.repository_id = coalesce(deliveries.repository_id, '')
	AND events.type = CASE deliveries.event
		WHEN 'Issue' THEN 'issue'
		WHEN 'Project' THEN 'project'
		WHEN 'ProjectUpdate' THEN 'project_update'
		WHEN 'InitiativeUpdate' THEN 'project_update'
		ELSE deliveries.event
	END
	AND events.key = CASE deliveries.event
		WHEN 'push' THEN coalesce(json_extract(deliveries.data, '$.after'), json_extract(deliveries.data, '$.commits[#-1].id'))
		WHEN 'pull_request' THEN CAST(json_extract(deliveries.data, '$.number') AS text)
		WHEN 'release' THEN json_extract(deliveries.data, '$.tagName')
		ELSE json_extract(deliveries.data, '$.id')
	END
WHERE deliveries.status = 'processed'
	AND deliveries.action IN ('published', 'pushed', 'merged', 'completed', iif(events.type = 'project_update', 'created', 'completed'))
	AND (triggers.repository_id IS NULL OR triggers.repository_id = events.repository_id)
	AND (events.type = triggers.event OR (triggers.event = 'push' AND events.type = 'pull_request'))
	AND (events.branch IS NULL OR trigger_runs.scope = events.repository_id || ' ' || events.branch)
GROUP BY 1, 2, 3, 4;
