CREATE TABLE `former_slugs` (
	`slug` text PRIMARY KEY NOT NULL,
	`organization_id` text NOT NULL,
	`expires_at` integer NOT NULL,
	FOREIGN KEY (`organization_id`) REFERENCES `organizations`(`id`) ON UPDATE no action ON DELETE cascade
);
--> statement-breakpoint
CREATE INDEX `former_slugs_by_organization` ON `former_slugs` (`organization_id`);--> statement-breakpoint
CREATE INDEX `former_slugs_by_expiry` ON `former_slugs` (`expires_at`);