CREATE TRIGGER `posts_counted_on_insert` AFTER INSERT ON `posts` BEGIN
	INSERT INTO `post_counts` (`organization_id`, `status`, `content_type`, `count`, `version`)
	VALUES (new.`organization_id`, new.`status`, new.`content_type`, 1, lower(hex(randomblob(8))))
	ON CONFLICT DO UPDATE SET `count` = `count` + 1, `version` = excluded.`version`;
END;
--> statement-breakpoint
CREATE TRIGGER `posts_counted_on_delete` AFTER DELETE ON `posts` BEGIN
	UPDATE `post_counts` SET `count` = `count` - 1, `version` = lower(hex(randomblob(8)))
	WHERE `organization_id` = old.`organization_id` AND `status` = old.`status` AND `content_type` = old.`content_type`;
END;
--> statement-breakpoint
CREATE TRIGGER `posts_counted_on_update` AFTER UPDATE ON `posts` BEGIN
	UPDATE `post_counts` SET `count` = `count` - 1, `version` = lower(hex(randomblob(8)))
	WHERE `organization_id` = old.`organization_id` AND `status` = old.`status` AND `content_type` = old.`content_type`;
	INSERT INTO `post_counts` (`organization_id`, `status`, `content_type`, `count`, `version`)
	VALUES (new.`organization_id`, new.`status`, new.`content_type`, 1, lower(hex(randomblob(8))))
	ON CONFLICT DO UPDATE SET `count` = `count` + 1, `version` = excluded.`version`;
END;
