-- Where a page of a long list begins. A block is a run of up to 128 posts of an organization in list order, of any status
-- and type: from `start`, which is `created_at || id`, to the `start` of the next block. Its columns count its posts by
-- status and type. Level 2 has the sums of runs of up to 256 blocks. SQL triggers maintain both, whatever writes posts.
CREATE TABLE `post_blocks` (
	`organization_id` text NOT NULL,
	`level` integer NOT NULL,
	`start` text NOT NULL,
	`draft_changelog` integer NOT NULL,
	`draft_linkedin_post` integer NOT NULL,
	`published_changelog` integer NOT NULL,
	`published_linkedin_post` integer NOT NULL,
	PRIMARY KEY (`organization_id`, `level`, `start`),
	FOREIGN KEY (`organization_id`) REFERENCES `organizations`(`id`) ON UPDATE no action ON DELETE cascade
) WITHOUT ROWID;
--> statement-breakpoint
INSERT INTO `post_blocks` SELECT `id`, `level`.`column1`, '', 0, 0, 0, 0 FROM `organizations`, (VALUES (1), (2)) AS `level`;
--> statement-breakpoint
INSERT OR REPLACE INTO `post_blocks`
SELECT `organization_id`, 1, iif(`place` < 64, '', min(`created_at` || `id`)),
	sum(`status` = 'draft' AND `content_type` = 'changelog'),
	sum(`status` = 'draft' AND `content_type` = 'linkedin_post'),
	sum(`status` = 'published' AND `content_type` = 'changelog'),
	sum(`status` = 'published' AND `content_type` = 'linkedin_post')
FROM (
	SELECT `organization_id`, `created_at`, `id`, `status`, `content_type`,
		row_number() OVER (PARTITION BY `organization_id` ORDER BY `created_at`, `id`) - 1 AS `place`
	FROM `posts`
)
GROUP BY `organization_id`, `place` / 64;
--> statement-breakpoint
INSERT OR REPLACE INTO `post_blocks`
SELECT `organization_id`, 2, min(`start`),
	sum(`draft_changelog`), sum(`draft_linkedin_post`), sum(`published_changelog`), sum(`published_linkedin_post`)
FROM (
	SELECT *, row_number() OVER (PARTITION BY `organization_id` ORDER BY `start`) - 1 AS `place`
	FROM `post_blocks` WHERE `level` = 1
)
GROUP BY `organization_id`, `place` / 128;
--> statement-breakpoint
-- The first blocks of an organization stay, so that every post has a block to begin with.
CREATE TRIGGER `post_blocks_begun` AFTER INSERT ON `organizations` BEGIN
	INSERT INTO `post_blocks` VALUES (new.`id`, 1, '', 0, 0, 0, 0), (new.`id`, 2, '', 0, 0, 0, 0);
END;
--> statement-breakpoint
-- Takes the changes of posts: `number` is 1 for a post that comes and -1 for one that goes.
CREATE VIEW `post_block_changes` AS
	SELECT `organization_id`, `status`, `content_type`, `created_at` || `id` AS `place`, 1 AS `number` FROM `posts`;
--> statement-breakpoint
CREATE TRIGGER `posts_in_blocks_on_insert` AFTER INSERT ON `posts` BEGIN
	INSERT INTO `post_block_changes`
	VALUES (new.`organization_id`, new.`status`, new.`content_type`, new.`created_at` || new.`id`, 1);
END;
--> statement-breakpoint
CREATE TRIGGER `posts_in_blocks_on_delete` AFTER DELETE ON `posts` BEGIN
	INSERT INTO `post_block_changes`
	VALUES (old.`organization_id`, old.`status`, old.`content_type`, old.`created_at` || old.`id`, -1);
END;
--> statement-breakpoint
CREATE TRIGGER `posts_in_blocks_on_update` AFTER UPDATE ON `posts`
WHEN (old.`organization_id`, old.`status`, old.`content_type`, old.`created_at`, old.`id`)
	<> (new.`organization_id`, new.`status`, new.`content_type`, new.`created_at`, new.`id`) BEGIN
	INSERT INTO `post_block_changes`
	VALUES (old.`organization_id`, old.`status`, old.`content_type`, old.`created_at` || old.`id`, -1);
	INSERT INTO `post_block_changes`
	VALUES (new.`organization_id`, new.`status`, new.`content_type`, new.`created_at` || new.`id`, 1);
END;
--> statement-breakpoint
-- Level 2 comes first: a split of the block then sums up blocks that have the change.
CREATE TRIGGER `post_blocks_changed` INSTEAD OF INSERT ON `post_block_changes` BEGIN
	UPDATE `post_blocks` SET
		`draft_changelog` = `draft_changelog` + iif(new.`status` = 'draft' AND new.`content_type` = 'changelog', new.`number`, 0),
		`draft_linkedin_post` = `draft_linkedin_post` + iif(new.`status` = 'draft' AND new.`content_type` = 'linkedin_post', new.`number`, 0),
		`published_changelog` = `published_changelog` + iif(new.`status` = 'published' AND new.`content_type` = 'changelog', new.`number`, 0),
		`published_linkedin_post` = `published_linkedin_post` + iif(new.`status` = 'published' AND new.`content_type` = 'linkedin_post', new.`number`, 0)
	WHERE `organization_id` = new.`organization_id` AND `level` = 2 AND `start` = (
		SELECT max(`start`) FROM `post_blocks`
		WHERE `organization_id` = new.`organization_id` AND `level` = 2 AND `start` <= new.`place`);
	UPDATE `post_blocks` SET
		`draft_changelog` = `draft_changelog` + iif(new.`status` = 'draft' AND new.`content_type` = 'changelog', new.`number`, 0),
		`draft_linkedin_post` = `draft_linkedin_post` + iif(new.`status` = 'draft' AND new.`content_type` = 'linkedin_post', new.`number`, 0),
		`published_changelog` = `published_changelog` + iif(new.`status` = 'published' AND new.`content_type` = 'changelog', new.`number`, 0),
		`published_linkedin_post` = `published_linkedin_post` + iif(new.`status` = 'published' AND new.`content_type` = 'linkedin_post', new.`number`, 0)
	WHERE `organization_id` = new.`organization_id` AND `level` = 1 AND `start` = (
		SELECT max(`start`) FROM `post_blocks`
		WHERE `organization_id` = new.`organization_id` AND `level` = 1 AND `start` <= new.`place`);
END;
--> statement-breakpoint
-- The second half of a full block becomes a block, and the second half of 257 blocks of one sum a sum.
CREATE TRIGGER `post_blocks_split` AFTER UPDATE ON `post_blocks`
WHEN new.`level` = 1
	AND new.`draft_changelog` + new.`draft_linkedin_post` + new.`published_changelog` + new.`published_linkedin_post` > 128 BEGIN
	INSERT INTO `post_blocks`
	SELECT new.`organization_id`, 1, min(`created_at` || `id`),
		sum(`status` = 'draft' AND `content_type` = 'changelog'),
		sum(`status` = 'draft' AND `content_type` = 'linkedin_post'),
		sum(`status` = 'published' AND `content_type` = 'changelog'),
		sum(`status` = 'published' AND `content_type` = 'linkedin_post')
	FROM (
		SELECT `created_at`, `id`, `status`, `content_type` FROM `posts`
		WHERE `organization_id` = new.`organization_id`
			AND (`created_at`, `id`) >= (substr(new.`start`, 1, 24), substr(new.`start`, 25))
		ORDER BY `created_at`, `id` LIMIT 65 OFFSET 64
	);
	INSERT INTO `post_blocks`
	SELECT new.`organization_id`, 2, min(`start`),
		sum(`draft_changelog`), sum(`draft_linkedin_post`), sum(`published_changelog`), sum(`published_linkedin_post`)
	FROM (
		SELECT * FROM `post_blocks`
		WHERE `organization_id` = new.`organization_id` AND `level` = 1
			AND `start` >= (
				SELECT max(`start`) FROM `post_blocks`
				WHERE `organization_id` = new.`organization_id` AND `level` = 2 AND `start` <= new.`start`)
			AND `start` < (
				SELECT coalesce(min(`start`), '~') FROM `post_blocks`
				WHERE `organization_id` = new.`organization_id` AND `level` = 2 AND `start` > new.`start`)
		ORDER BY `start` LIMIT 129 OFFSET 128
	)
	HAVING count(*) = 129;
END;
--> statement-breakpoint
CREATE TRIGGER `post_blocks_taken` AFTER INSERT ON `post_blocks` BEGIN
	UPDATE `post_blocks` SET
		`draft_changelog` = `draft_changelog` - new.`draft_changelog`,
		`draft_linkedin_post` = `draft_linkedin_post` - new.`draft_linkedin_post`,
		`published_changelog` = `published_changelog` - new.`published_changelog`,
		`published_linkedin_post` = `published_linkedin_post` - new.`published_linkedin_post`
	WHERE `organization_id` = new.`organization_id` AND `level` = new.`level` AND `start` = (
		SELECT max(`start`) FROM `post_blocks`
		WHERE `organization_id` = new.`organization_id` AND `level` = new.`level` AND `start` < new.`start`);
END;
--> statement-breakpoint
-- An empty block goes, unless a sum begins with it.
CREATE TRIGGER `post_blocks_emptied` AFTER UPDATE ON `post_blocks`
WHEN new.`draft_changelog` + new.`draft_linkedin_post` + new.`published_changelog` + new.`published_linkedin_post` = 0
	AND new.`start` <> '' BEGIN
	DELETE FROM `post_blocks`
	WHERE `organization_id` = new.`organization_id` AND `level` = 2 AND new.`level` = 2 AND `start` = new.`start`;
	DELETE FROM `post_blocks`
	WHERE `organization_id` = new.`organization_id` AND `level` = 1 AND `start` = new.`start`
		AND `draft_changelog` + `draft_linkedin_post` + `published_changelog` + `published_linkedin_post` = 0
		AND NOT EXISTS (
			SELECT 1 FROM `post_blocks`
			WHERE `organization_id` = new.`organization_id` AND `level` = 2 AND `start` = new.`start`);
END;
