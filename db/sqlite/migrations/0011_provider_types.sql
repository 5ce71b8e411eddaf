CREATE TABLE `__new_integrations` (
	`id` text PRIMARY KEY NOT NULL,
	`organization_id` text NOT NULL,
	`type` text NOT NULL,
	`enabled` integer NOT NULL,
	`secret` blob NOT NULL,
	`previous_secret` blob,
	`previous_secret_until` text,
	`token` blob,
	`missed_checked_at` text,
	`created_at` text NOT NULL,
	FOREIGN KEY (`organization_id`) REFERENCES `organizations`(`id`) ON UPDATE no action ON DELETE cascade
);
--> statement-breakpoint
INSERT INTO `__new_integrations`("id", "organization_id", "type", "enabled", "secret", "previous_secret", "previous_secret_until", "token", "missed_checked_at", "created_at") SELECT "id", "organization_id", "type", "enabled", "secret", "previous_secret", "previous_secret_until", "token", "missed_checked_at", "created_at" FROM `integrations`;--> statement-breakpoint
DROP TABLE `integrations`;--> statement-breakpoint
ALTER TABLE `__new_integrations` RENAME TO `integrations`;--> statement-breakpoint
CREATE INDEX `integrations_by_organization` ON `integrations` (`organization_id`,`created_at`);