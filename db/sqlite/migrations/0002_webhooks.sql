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
	`reason` text,
	`count` integer NOT NULL,
	`body_hash` blob,
	`same_body_as` text,
	`duration_ms` integer NOT NULL,
	`retention_days` integer NOT NULL,
	`created_at` text NOT NULL,
	`expires_at` integer NOT NULL,
	CONSTRAINT "deliveries_status" CHECK("deliveries"."status" in ('processed', 'ignored', 'duplicate', 'rejected', 'failed'))
);
--> statement-breakpoint
CREATE INDEX `deliveries_by_organization` ON `deliveries` (`organization_id`,`created_at`,`id`);--> statement-breakpoint
CREATE INDEX `deliveries_by_integration` ON `deliveries` (`integration_id`,`created_at`,`id`);--> statement-breakpoint
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
CREATE TABLE `integrations` (
	`id` text PRIMARY KEY NOT NULL,
	`organization_id` text NOT NULL,
	`type` text NOT NULL,
	`enabled` integer NOT NULL,
	`secret` blob NOT NULL,
	`previous_secret` blob,
	`previous_secret_until` text,
	`created_at` text NOT NULL,
	FOREIGN KEY (`organization_id`) REFERENCES `organizations`(`id`) ON UPDATE no action ON DELETE cascade,
	CONSTRAINT "integrations_type" CHECK("integrations"."type" in ('github', 'linear'))
);
--> statement-breakpoint
CREATE INDEX `integrations_by_organization` ON `integrations` (`organization_id`,`created_at`);--> statement-breakpoint
CREATE TABLE `repositories` (
	`id` text PRIMARY KEY NOT NULL,
	`integration_id` text NOT NULL,
	`full_name` text NOT NULL,
	`created_at` text NOT NULL,
	FOREIGN KEY (`integration_id`) REFERENCES `integrations`(`id`) ON UPDATE no action ON DELETE cascade
);
--> statement-breakpoint
CREATE INDEX `repositories_by_integration` ON `repositories` (`integration_id`);