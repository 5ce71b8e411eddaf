CREATE TABLE `trigger_events` (
	`trigger_id` text NOT NULL,
	`repository_id` text NOT NULL,
	`type` text NOT NULL,
	`key` text NOT NULL,
	`is_match` integer NOT NULL,
	`draft_only` integer NOT NULL,
	PRIMARY KEY(`trigger_id`, `repository_id`, `type`, `key`),
	FOREIGN KEY (`trigger_id`) REFERENCES `triggers`(`id`) ON UPDATE no action ON DELETE cascade
);

--> statement-breakpoint
-- Drafts and suggestions from before keep changing with their events.
INSERT OR IGNORE INTO trigger_events (trigger_id, repository_id, type, key, is_match, draft_only)
SELECT told.trigger_id,
	iif(triggers.event IN ('release', 'push', 'pull_request'), substr(told.scope, 1, instr(told.scope, ' ') - 1), ''),
	substr(each.value, 1, instr(each.value, ' ') - 1),
	substr(each.value, instr(each.value, ' ') + 1),
	1, 0
FROM (
	SELECT trigger_id, scope, event_keys FROM drafts
	UNION ALL
	SELECT trigger_id, scope, iif(json_valid(suggestion), json_extract(suggestion, '$.eventKeys'), NULL) FROM drafts
) AS told
JOIN triggers ON triggers.id = told.trigger_id
JOIN json_each(told.event_keys) AS each
WHERE substr(each.value, 1, instr(each.value, ' ') - 1) = triggers.event
	OR (triggers.event = 'push' AND each.value LIKE 'pull_request %');
--> statement-breakpoint
-- Runs that are not done keep the events that queued them. A delivery enters the log up to minutes before its run is
-- queued. Where the trigger has been changed since, nobody knows whether it was enabled all the time: its posts wait
-- as drafts.
INSERT OR IGNORE INTO trigger_events (trigger_id, repository_id, type, key, is_match, draft_only)
SELECT triggers.id, events.repository_id, events.type, events.key, 1,
	max(triggers.updated_at >= strftime('%Y-%m-%dT%H:%M:%fZ', trigger_runs.queued_at, '-10 minutes'))
FROM trigger_runs
JOIN triggers ON triggers.id = trigger_runs.trigger_id
JOIN deliveries ON deliveries.integration_id = triggers.integration_id
	AND deliveries.created_at >= strftime('%Y-%m-%dT%H:%M:%fZ', trigger_runs.queued_at, '-10 minutes')
	AND (triggers.enabled OR deliveries.created_at <= triggers.updated_at)
JOIN events ON events.integration_id = triggers.integration_id
	AND events.repository_id = coalesce(deliveries.repository_id, '')
	AND events.type = CASE deliveries.event
		WHEN 'Issue' THEN 'issue'
		WHEN 'Project' THEN 'project'
		WHEN 'ProjectUpdate' THEN 'project_update'
		WHEN 'InitiativeUpdate' THEN 'project_update'
		ELSE deliveries.event
	END
	AND events.key = CASE deliveries.event
		WHEN 'push' THEN coalesce(json_extract(deliveries.data, '$.after'), json_extract(deliveries.data, '$.commits[#-1].id'))
		WHEN 'pull_request' THEN CAST(json_extract(deliveries.data, '$.number') AS text)
		WHEN 'release' THEN json_extract(deliveries.data, '$.tagName')
		ELSE json_extract(deliveries.data, '$.id')
	END
WHERE deliveries.status = 'processed'
	AND deliveries.action IN ('published', 'pushed', 'merged', 'completed', iif(events.type = 'project_update', 'created', 'completed'))
	AND (triggers.repository_id IS NULL OR triggers.repository_id = events.repository_id)
	AND (events.type = triggers.event OR (triggers.event = 'push' AND events.type = 'pull_request'))
	AND (events.branch IS NULL OR trigger_runs.scope = events.repository_id || ' ' || events.branch)
GROUP BY 1, 2, 3, 4;
