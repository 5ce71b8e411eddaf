ALTER TABLE `sessions` ADD `last_used_at` integer DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE `sessions` ADD `address` text;--> statement-breakpoint
ALTER TABLE `sessions` ADD `user_agent` text;--> statement-breakpoint
ALTER TABLE `users` ADD `disabled_at` text;--> statement-breakpoint
UPDATE `sessions` SET
	`last_used_at` = max(`expires_at` - 2592000000, 0),
	`expires_at` = min(`expires_at`, coalesce(unixepoch(`created_at`) * 1000 + 7776000000, 0));
