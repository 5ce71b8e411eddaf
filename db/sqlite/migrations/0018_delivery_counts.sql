CREATE TABLE `delivery_counts` (
	`organization_id` text NOT NULL,
	`integration_id` text NOT NULL,
	`day` text NOT NULL,
	`status` text NOT NULL,
	`shard` integer NOT NULL,
	`entries` integer NOT NULL,
	PRIMARY KEY(`organization_id`, `integration_id`, `day`, `status`, `shard`)
);
--> statement-breakpoint
DROP INDEX `deliveries_by_organization`;--> statement-breakpoint
DROP INDEX `deliveries_by_integration`;--> statement-breakpoint
DROP INDEX `deliveries_by_problem`;--> statement-breakpoint
CREATE INDEX `deliveries_by_organization` ON `deliveries` (`organization_id`,`created_at`,`id`,`status`,`event`,`integration_type`,`is_polled`);--> statement-breakpoint
CREATE INDEX `deliveries_by_integration` ON `deliveries` (`integration_id`,`created_at`,`id`,`status`,`event`,`is_polled`);--> statement-breakpoint
CREATE INDEX `deliveries_by_problem` ON `deliveries` (`organization_id`,`status`,`created_at`,`id`,`integration_id`,`event`,`integration_type`) WHERE "deliveries"."status" <> 'processed';--> statement-breakpoint
INSERT INTO `delivery_counts` (`organization_id`, `integration_id`, `day`, `status`, `shard`, `entries`)
SELECT `organization_id`, `integration_id`, substr(`created_at`, 1, 10), `status`, 0, count(*)
FROM `deliveries` GROUP BY 1, 2, 3, 4;
--> statement-breakpoint
CREATE TRIGGER `deliveries_counted_on_insert` AFTER INSERT ON `deliveries` BEGIN
	INSERT INTO `delivery_counts` (`organization_id`, `integration_id`, `day`, `status`, `shard`, `entries`)
	VALUES (new.`organization_id`, new.`integration_id`, substr(new.`created_at`, 1, 10), new.`status`, 0, 1)
	ON CONFLICT DO UPDATE SET `entries` = `entries` + 1;
END;
--> statement-breakpoint
CREATE TRIGGER `deliveries_counted_on_delete` AFTER DELETE ON `deliveries` BEGIN
	UPDATE `delivery_counts` SET `entries` = `entries` - 1
	WHERE `organization_id` = old.`organization_id` AND `integration_id` = old.`integration_id`
		AND `day` = substr(old.`created_at`, 1, 10) AND `status` = old.`status` AND `shard` = 0;
END;
