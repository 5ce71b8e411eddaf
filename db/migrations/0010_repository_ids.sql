ALTER TABLE `repositories` ADD `provider_id` integer;--> statement-breakpoint
CREATE UNIQUE INDEX `repositories_by_provider_id` ON `repositories` (`integration_id`,`provider_id`);