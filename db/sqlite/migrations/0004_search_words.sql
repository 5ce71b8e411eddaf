ALTER TABLE `posts` ADD `search_words` text;
--> statement-breakpoint
DROP TRIGGER `posts_searchable_on_insert`;
--> statement-breakpoint
DROP TRIGGER `posts_searchable_on_delete`;
--> statement-breakpoint
DROP TRIGGER `posts_searchable_on_update`;
--> statement-breakpoint
-- What `search-words.ts` writes for new texts: characters of Chinese, Japanese and Korean stand alone, and no letter stands
-- before a version. This writes more words than that, which does no harm.
UPDATE `posts` SET `search_words` = (
	WITH RECURSIVE `parts` (`at`, `part`) AS (
		SELECT 1, substr(' ' || `title` || ' ' || `content`, 1, 200)
		UNION ALL
		SELECT `at` + 200, substr(' ' || `title` || ' ' || `content`, `at` + 200, 200) FROM `parts`
		WHERE `at` + 200 <= min(length(`title`) + length(`content`) + 2, 100000)
	), `characters` (`at`, `part`, `place`) AS (
		SELECT `at`, `part`, 1 FROM `parts`
		UNION ALL
		SELECT `at`, `part`, `place` + 1 FROM `characters` WHERE `place` < length(`part`)
	), `steps` (`at`, `place`, `before`, `character`, `after`) AS (
		SELECT `at`, `place`, substr(`part`, `place` - 1, 1), substr(`part`, `place`, 1), substr(`part`, `place` + 1, 1) FROM `characters`
	)
	SELECT group_concat(CASE
		WHEN `character` GLOB '[぀-ヿㄱ-ㆎ㐀-䶿一-鿿가-힣豈-﫿]' THEN ' ' || `character` || ' '
		WHEN `character` IN ('v', 'V') AND `after` GLOB '[0-9]' AND NOT `before` GLOB '[a-zA-Z0-9]' THEN ' '
		ELSE `character` END, '' ORDER BY `at`, `place`)
	FROM `steps`
)
WHERE `title` || `content` GLOB '*[぀-ヿㄱ-ㆎ㐀-䶿一-鿿가-힣豈-﫿]*' OR `title` || `content` GLOB '*[vV][0-9]*.[0-9]*';
--> statement-breakpoint
DROP TABLE `post_search`;
--> statement-breakpoint
DROP VIEW `post_texts`;
--> statement-breakpoint
CREATE VIEW `post_texts` AS
	SELECT `post_numbers`.`number`, hex(`organization_id`) || ' ' || `status` || ' ' || `content_type` AS `about`, `title`, `content`, `search_words`
	FROM `post_numbers` JOIN `posts` ON `posts`.`id` = `post_numbers`.`post_id`;
--> statement-breakpoint
CREATE VIRTUAL TABLE `post_search` USING fts5(
	`about`, `title`, `content`, `search_words`,
	content='post_texts', content_rowid='number', tokenize='unicode61 remove_diacritics 2'
);
--> statement-breakpoint
INSERT INTO `post_search` (`post_search`, `rank`) VALUES ('pgsz', 1000);
--> statement-breakpoint
INSERT INTO `post_search` (`post_search`) VALUES ('rebuild');
--> statement-breakpoint
CREATE TRIGGER `posts_searchable_on_insert` AFTER INSERT ON `posts` BEGIN
	INSERT INTO `post_numbers` (`post_id`) VALUES (new.`id`);
	INSERT INTO `post_search` (`rowid`, `about`, `title`, `content`, `search_words`)
	SELECT `number`, hex(new.`organization_id`) || ' ' || new.`status` || ' ' || new.`content_type`, new.`title`, new.`content`, new.`search_words`
	FROM `post_numbers` WHERE `post_id` = new.`id`;
END;
--> statement-breakpoint
CREATE TRIGGER `posts_searchable_on_delete` AFTER DELETE ON `posts` BEGIN
	INSERT INTO `post_search` (`post_search`, `rowid`, `about`, `title`, `content`, `search_words`)
	SELECT 'delete', `number`, hex(old.`organization_id`) || ' ' || old.`status` || ' ' || old.`content_type`, old.`title`, old.`content`, old.`search_words`
	FROM `post_numbers` WHERE `post_id` = old.`id`;
	DELETE FROM `post_numbers` WHERE `post_id` = old.`id`;
END;
--> statement-breakpoint
CREATE TRIGGER `posts_searchable_on_update` AFTER UPDATE ON `posts`
WHEN old.`title` <> new.`title` OR old.`content` <> new.`content` OR old.`status` <> new.`status` OR old.`content_type` <> new.`content_type`
OR old.`search_words` IS NOT new.`search_words` BEGIN
	INSERT INTO `post_search` (`post_search`, `rowid`, `about`, `title`, `content`, `search_words`)
	SELECT 'delete', `number`, hex(old.`organization_id`) || ' ' || old.`status` || ' ' || old.`content_type`, old.`title`, old.`content`, old.`search_words`
	FROM `post_numbers` WHERE `post_id` = old.`id`;
	INSERT INTO `post_search` (`rowid`, `about`, `title`, `content`, `search_words`)
	SELECT `number`, hex(new.`organization_id`) || ' ' || new.`status` || ' ' || new.`content_type`, new.`title`, new.`content`, new.`search_words`
	FROM `post_numbers` WHERE `post_id` = new.`id`;
END;
