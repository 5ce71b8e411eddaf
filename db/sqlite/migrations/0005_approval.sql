CREATE TABLE `post_approvals` (
	`post_id` text PRIMARY KEY NOT NULL,
	`organization_id` text NOT NULL,
	`state` text NOT NULL,
	`hash` text NOT NULL,
	`version_id` text NOT NULL,
	`change` text,
	`asked_by_id` text,
	`asked_by` text NOT NULL,
	`asked_at` text NOT NULL,
	`decided_by_id` text,
	`decided_by` text,
	`decided_at` text,
	`note` text,
	FOREIGN KEY (`organization_id`) REFERENCES `organizations`(`id`) ON UPDATE no action ON DELETE cascade,
	CONSTRAINT "post_approvals_state" CHECK("post_approvals"."state" in ('waiting', 'approved', 'declined', 'withdrawn'))
);
--> statement-breakpoint
CREATE INDEX `post_approvals_waiting` ON `post_approvals` (`asked_at`) WHERE "post_approvals"."state" = 'waiting';--> statement-breakpoint
CREATE TABLE `__new_memberships` (
	`user_id` text NOT NULL,
	`organization_id` text NOT NULL,
	`role` text NOT NULL,
	`created_at` text NOT NULL,
	`by_rule` integer DEFAULT false NOT NULL,
	PRIMARY KEY(`user_id`, `organization_id`),
	FOREIGN KEY (`user_id`) REFERENCES `users`(`id`) ON UPDATE no action ON DELETE cascade,
	FOREIGN KEY (`organization_id`) REFERENCES `organizations`(`id`) ON UPDATE no action ON DELETE cascade,
	CONSTRAINT "memberships_role" CHECK("__new_memberships"."role" in ('owner', 'member', 'writer'))
);
--> statement-breakpoint
INSERT INTO `__new_memberships`("user_id", "organization_id", "role", "created_at", "by_rule") SELECT "user_id", "organization_id", "role", "created_at", "by_rule" FROM `memberships`;--> statement-breakpoint
DROP TABLE `memberships`;--> statement-breakpoint
ALTER TABLE `__new_memberships` RENAME TO `memberships`;--> statement-breakpoint
ALTER TABLE `organizations` ADD `needs_approval` integer DEFAULT false NOT NULL;--> statement-breakpoint
ALTER TABLE `post_versions` ADD `reached` text;
