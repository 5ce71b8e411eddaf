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
CREATE TABLE `organizations` (
	`id` text PRIMARY KEY NOT NULL,
	`name` text NOT NULL,
	`plan` text NOT NULL,
	`created_at` text NOT NULL,
	CONSTRAINT "organizations_plan" CHECK("organizations"."plan" in ('free', 'pro'))
);
--> statement-breakpoint
CREATE TABLE `post_counts` (
	`organization_id` text NOT NULL,
	`status` text NOT NULL,
	`content_type` text NOT NULL,
	`count` integer NOT NULL,
	`version` text NOT NULL,
	PRIMARY KEY(`organization_id`, `status`, `content_type`)
);
--> statement-breakpoint
CREATE TABLE `posts` (
	`id` text PRIMARY KEY NOT NULL,
	`organization_id` text NOT NULL,
	`status` text NOT NULL,
	`content_type` text NOT NULL,
	`created_at` text NOT NULL,
	`updated_at` text NOT NULL,
	`json` blob GENERATED ALWAYS AS (cast(json_object('id', id, 'title', title, 'content', content, 'markdown', markdown, 'contentType', content_type, 'sourceMetadata', json(source_metadata), 'status', status, 'createdAt', created_at, 'updatedAt', updated_at) as blob)) STORED NOT NULL,
	`title` text NOT NULL,
	`content` text NOT NULL,
	`markdown` text NOT NULL,
	`source_metadata` text,
	FOREIGN KEY (`organization_id`) REFERENCES `organizations`(`id`) ON UPDATE no action ON DELETE cascade,
	CONSTRAINT "posts_status" CHECK("posts"."status" in ('draft', 'published')),
	CONSTRAINT "posts_content_type" CHECK("posts"."content_type" in ('changelog', 'linkedin_post')),
	CONSTRAINT "posts_created_at" CHECK(length("posts"."created_at") = 24),
	CONSTRAINT "posts_updated_at" CHECK(length("posts"."updated_at") = 24)
);
--> statement-breakpoint
CREATE INDEX `posts_by_date` ON `posts` (`organization_id`,`created_at`,`id`);--> statement-breakpoint
CREATE INDEX `posts_by_status` ON `posts` (`organization_id`,`status`,`created_at`,`id`);--> statement-breakpoint
CREATE INDEX `posts_by_type` ON `posts` (`organization_id`,`content_type`,`created_at`,`id`);--> statement-breakpoint
CREATE INDEX `posts_by_status_and_type` ON `posts` (`organization_id`,`status`,`content_type`,`created_at`,`id`);