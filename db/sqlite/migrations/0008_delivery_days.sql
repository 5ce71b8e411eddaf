DROP INDEX `deliveries_by_integration`;--> statement-breakpoint
CREATE INDEX `deliveries_by_integration` ON `deliveries` (`integration_id`,`created_at`,`id`,`status`);