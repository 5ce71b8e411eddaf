CREATE TABLE `assistants` (
	`organization_id` text PRIMARY KEY NOT NULL,
	`voice` text NOT NULL,
	`examples` text NOT NULL,
	`includes_private` integer NOT NULL,
	`daily_requests` integer NOT NULL,
	`daily_bytes` integer NOT NULL,
	`day` text NOT NULL,
	`requests` integer NOT NULL,
	`bytes` integer NOT NULL,
	FOREIGN KEY (`organization_id`) REFERENCES `organizations`(`id`) ON UPDATE no action ON DELETE cascade
);
--> statement-breakpoint
CREATE TABLE `wordings` (
	`post_id` text PRIMARY KEY NOT NULL,
	`organization_id` text NOT NULL,
	`status` text NOT NULL,
	`actor_name` text,
	`attempts` integer NOT NULL,
	`due_at` integer NOT NULL,
	`lines` text NOT NULL,
	`error` text,
	`asked_at` text NOT NULL,
	FOREIGN KEY (`post_id`) REFERENCES `posts`(`id`) ON UPDATE no action ON DELETE cascade,
	FOREIGN KEY (`organization_id`) REFERENCES `organizations`(`id`) ON UPDATE no action ON DELETE cascade,
	CONSTRAINT "wordings_status" CHECK("wordings"."status" in ('queued', 'done'))
);
--> statement-breakpoint
CREATE INDEX `wordings_due` ON `wordings` (`status`,`due_at`);--> statement-breakpoint
ALTER TABLE `triggers` ADD `suggests` integer DEFAULT false NOT NULL;--> statement-breakpoint
ALTER TABLE `post_suggestions` ADD `rewrites` text;