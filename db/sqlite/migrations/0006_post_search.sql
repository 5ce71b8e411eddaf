CREATE TABLE `post_numbers` (
	`number` integer PRIMARY KEY NOT NULL,
	`post_id` text NOT NULL UNIQUE
);
--> statement-breakpoint
CREATE VIEW `post_texts` AS
	SELECT `post_numbers`.`number`, hex(`organization_id`) || ' ' || `status` || ' ' || `content_type` AS `about`, `title`, `content`
	FROM `post_numbers` JOIN `posts` ON `posts`.`id` = `post_numbers`.`post_id`;
--> statement-breakpoint
CREATE VIRTUAL TABLE `post_search` USING fts5(
	`about`, `title`, `content`,
	content='post_texts', content_rowid='number', tokenize='unicode61 remove_diacritics 2'
);
--> statement-breakpoint
CREATE TRIGGER `posts_searchable_on_insert` AFTER INSERT ON `posts` BEGIN
	INSERT INTO `post_numbers` (`post_id`) VALUES (new.`id`);
	INSERT INTO `post_search` (`rowid`, `about`, `title`, `content`)
	SELECT `number`, hex(new.`organization_id`) || ' ' || new.`status` || ' ' || new.`content_type`, new.`title`, new.`content`
	FROM `post_numbers` WHERE `post_id` = new.`id`;
END;
--> statement-breakpoint
CREATE TRIGGER `posts_searchable_on_delete` AFTER DELETE ON `posts` BEGIN
	INSERT INTO `post_search` (`post_search`, `rowid`, `about`, `title`, `content`)
	SELECT 'delete', `number`, hex(old.`organization_id`) || ' ' || old.`status` || ' ' || old.`content_type`, old.`title`, old.`content`
	FROM `post_numbers` WHERE `post_id` = old.`id`;
	DELETE FROM `post_numbers` WHERE `post_id` = old.`id`;
END;
--> statement-breakpoint
CREATE TRIGGER `posts_searchable_on_update` AFTER UPDATE ON `posts`
WHEN old.`title` <> new.`title` OR old.`content` <> new.`content` OR old.`status` <> new.`status` OR old.`content_type` <> new.`content_type` BEGIN
	INSERT INTO `post_search` (`post_search`, `rowid`, `about`, `title`, `content`)
	SELECT 'delete', `number`, hex(old.`organization_id`) || ' ' || old.`status` || ' ' || old.`content_type`, old.`title`, old.`content`
	FROM `post_numbers` WHERE `post_id` = old.`id`;
	INSERT INTO `post_search` (`rowid`, `about`, `title`, `content`)
	SELECT `number`, hex(new.`organization_id`) || ' ' || new.`status` || ' ' || new.`content_type`, new.`title`, new.`content`
	FROM `post_numbers` WHERE `post_id` = new.`id`;
END;
--> statement-breakpoint
INSERT INTO `post_numbers` (`post_id`) SELECT `id` FROM `posts` ORDER BY `created_at`, `id`;
--> statement-breakpoint
INSERT INTO `post_search` (`post_search`) VALUES ('rebuild');
