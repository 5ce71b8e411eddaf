-- Three levels of blocks instead of two, so that a page deep in a list reads a third of the rows. Level 2 has the sums of runs
-- of up to 32 blocks of posts, level 3 those of runs of up to 32 sums of level 2.
DROP TRIGGER `post_blocks_begun`;
--> statement-breakpoint
DROP TRIGGER `post_blocks_changed`;
--> statement-breakpoint
DROP TRIGGER `post_blocks_split`;
--> statement-breakpoint
DROP TRIGGER `post_blocks_taken`;
--> statement-breakpoint
DROP TRIGGER `post_blocks_emptied`;
--> statement-breakpoint
DELETE FROM `post_blocks` WHERE `level` = 2;
--> statement-breakpoint
-- Empty blocks stayed while a sum began with them. These sums are gone.
DELETE FROM `post_blocks`
WHERE `start` <> '' AND `draft_changelog` + `draft_linkedin_post` + `published_changelog` + `published_linkedin_post` = 0;
--> statement-breakpoint
INSERT INTO `post_blocks`
SELECT `organization_id`, 2, min(`start`),
	sum(`draft_changelog`), sum(`draft_linkedin_post`), sum(`published_changelog`), sum(`published_linkedin_post`)
FROM (
	SELECT *, row_number() OVER (PARTITION BY `organization_id` ORDER BY `start`) - 1 AS `place`
	FROM `post_blocks` WHERE `level` = 1
)
GROUP BY `organization_id`, `place` / 16;
--> statement-breakpoint
INSERT INTO `post_blocks`
SELECT `organization_id`, 3, min(`start`),
	sum(`draft_changelog`), sum(`draft_linkedin_post`), sum(`published_changelog`), sum(`published_linkedin_post`)
FROM (
	SELECT *, row_number() OVER (PARTITION BY `organization_id` ORDER BY `start`) - 1 AS `place`
	FROM `post_blocks` WHERE `level` = 2
)
GROUP BY `organization_id`, `place` / 16;
--> statement-breakpoint
-- The first blocks of an organization stay, so that every post has a block to begin with.
CREATE TRIGGER `post_blocks_begun` AFTER INSERT ON `organizations` BEGIN
	INSERT INTO `post_blocks`
	VALUES (new.`id`, 1, '', 0, 0, 0, 0), (new.`id`, 2, '', 0, 0, 0, 0), (new.`id`, 3, '', 0, 0, 0, 0);
END;
--> statement-breakpoint
-- The highest level comes first: a split of a block then sums up blocks that have the change.
CREATE TRIGGER `post_blocks_changed` INSTEAD OF INSERT ON `post_block_changes` BEGIN
	UPDATE `post_blocks` SET
		`draft_changelog` = `draft_changelog` + iif(new.`status` = 'draft' AND new.`content_type` = 'changelog', new.`number`, 0),
		`draft_linkedin_post` = `draft_linkedin_post` + iif(new.`status` = 'draft' AND new.`content_type` = 'linkedin_post', new.`number`, 0),
		`published_changelog` = `published_changelog` + iif(new.`status` = 'published' AND new.`content_type` = 'changelog', new.`number`, 0),
		`published_linkedin_post` = `published_linkedin_post` + iif(new.`status` = 'published' AND new.`content_type` = 'linkedin_post', new.`number`, 0)
	WHERE `organization_id` = new.`organization_id` AND `level` = 3 AND `start` = (
		SELECT max(`start`) FROM `post_blocks`
		WHERE `organization_id` = new.`organization_id` AND `level` = 3 AND `start` <= new.`place`);
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
-- The second half of a full block becomes a block, and the second half of 33 blocks of one sum a sum.
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
		ORDER BY `start` LIMIT 17 OFFSET 16
	)
	HAVING count(*) = 17;
	INSERT INTO `post_blocks`
	SELECT new.`organization_id`, 3, min(`start`),
		sum(`draft_changelog`), sum(`draft_linkedin_post`), sum(`published_changelog`), sum(`published_linkedin_post`)
	FROM (
		SELECT * FROM `post_blocks`
		WHERE `organization_id` = new.`organization_id` AND `level` = 2
			AND `start` >= (
				SELECT max(`start`) FROM `post_blocks`
				WHERE `organization_id` = new.`organization_id` AND `level` = 3 AND `start` <= new.`start`)
			AND `start` < (
				SELECT coalesce(min(`start`), '~') FROM `post_blocks`
				WHERE `organization_id` = new.`organization_id` AND `level` = 3 AND `start` > new.`start`)
		ORDER BY `start` LIMIT 17 OFFSET 16
	)
	HAVING count(*) = 17;
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
-- An empty block goes, unless a sum begins with it. When that sum goes, so does the block.
CREATE TRIGGER `post_blocks_emptied` AFTER UPDATE ON `post_blocks`
WHEN new.`draft_changelog` + new.`draft_linkedin_post` + new.`published_changelog` + new.`published_linkedin_post` = 0
	AND new.`start` <> '' BEGIN
	DELETE FROM `post_blocks`
	WHERE `organization_id` = new.`organization_id` AND `level` = 3 AND new.`level` = 3 AND `start` = new.`start`;
	DELETE FROM `post_blocks`
	WHERE `organization_id` = new.`organization_id` AND `level` = 2 AND `start` = new.`start`
		AND `draft_changelog` + `draft_linkedin_post` + `published_changelog` + `published_linkedin_post` = 0
		AND NOT EXISTS (
			SELECT 1 FROM `post_blocks`
			WHERE `organization_id` = new.`organization_id` AND `level` = 3 AND `start` = new.`start`);
	DELETE FROM `post_blocks`
	WHERE `organization_id` = new.`organization_id` AND `level` = 1 AND `start` = new.`start`
		AND `draft_changelog` + `draft_linkedin_post` + `published_changelog` + `published_linkedin_post` = 0
		AND NOT EXISTS (
			SELECT 1 FROM `post_blocks`
			WHERE `organization_id` = new.`organization_id` AND `level` = 2 AND `start` = new.`start`);
END;
