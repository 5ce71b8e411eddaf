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
ALTER TABLE `sessions` ADD `last_used_at` integer DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE `sessions` ADD `address` text;--> statement-breakpoint
ALTER TABLE `sessions` ADD `user_agent` text;--> statement-breakpoint
ALTER TABLE `users` ADD `disabled_at` text;--> statement-breakpoint
ALTER TABLE `repositories` ADD `provider_id` integer;--> statement-breakpoint
CREATE UNIQUE INDEX `repositories_by_provider_id` ON `repositories` (`integration_id`,`provider_id`);--> statement-breakpoint
UPDATE `sessions` SET
	`last_used_at` = max(`expires_at` - 2592000000, 0),
	`expires_at` = min(`expires_at`, coalesce(unixepoch(`created_at`) * 1000 + 7776000000, 0));
