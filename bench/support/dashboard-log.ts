import type { SqliteDatabase } from '../../db/sqlite/client.ts';
import { DAY_MS, systemClock } from '../../src/lib/time.ts';
import { providers, sampleFor } from '../../src/providers/index.ts';
import { BenchError } from './run.ts';

/** Two of three entries are GitHub's. */
interface Owners {
  organizationId: string;
  github: string;
  linear: string;
}

/** An event that only the very oldest entries have: whoever looks for it finds nothing near. */
export const RARE_EVENT = 'deployment_status';

const DAYS = 30;
const BATCH = 20_000;

/** Log data of a delivery of each event, by the provider's name. */
const told = {
  push: sampleData('github', 'push'),
  pull_request: sampleData('github', 'pull_request'),
  release: sampleData('github', 'release'),
  Issue: sampleData('linear', 'Issue'),
};

function sampleData(type: 'github' | 'linear', event: string): string {
  const payload = sampleFor({ type, repositories: [] }, event, { now: systemClock.now() });
  const handler = providers.find(({ id }) => id === type)?.events[event];
  const result = payload === null ? undefined : handler?.read(payload);
  if (result?.outcome !== 'processed') throw new BenchError(`a sample ${event} is not processed`);
  return JSON.stringify(result.processed.data);
}

/**
 * Writes so many log entries, evenly over the last 30 days, oldest first. Of a thousand 800 were processed, 140 ignored,
 * 30 are duplicates, 20 were rejected and 10 failed. SQL of its own: the service writes one delivery at a time.
 */
export function fillLog(db: SqliteDatabase, owners: Owners, entries: number): void {
  const insert = db.$client.query(INSERT);
  const now = systemClock.now().getTime();
  const stepMs = (DAYS * DAY_MS) / entries;
  for (let last = entries; last > 0; last -= BATCH) {
    insert.run({ first: Math.max(1, last - BATCH + 1), last, entries, now, stepMs, ...owners, ...told });
  }
}

/**
 * Writes the results of the processed deliveries of an integration for a trigger. Of a thousand 900 updated a draft, 80
 * were filtered out, 10 created a draft, 5 made a suggestion and 5 failed. None waits for a release.
 */
export function fillResults(db: SqliteDatabase, about: { integrationId: string; triggerId: string }): void {
  db.$client
    .query(
      `INSERT INTO delivery_results (delivery_id, trigger_id, scope, event_key, outcome, updated_at, expires_at)
      SELECT id, $triggerId, 'main', 'push ' || id,
        CASE WHEN rowid % 1000 < 900 THEN 'updated' WHEN rowid % 1000 < 980 THEN 'filtered'
          WHEN rowid % 1000 < 990 THEN 'created' WHEN rowid % 1000 < 995 THEN 'suggested' ELSE 'failed' END,
        created_at, expires_at
      FROM deliveries WHERE integration_id = $integrationId AND status = 'processed'`,
    )
    .run(about);
}

/** `n` is 1 for the newest entry. Neighbors differ in everything: multiples of a prime stand for chance. */
const INSERT = `
    WITH RECURSIVE numbers(n) AS (
      SELECT $last UNION ALL SELECT n - 1 FROM numbers WHERE n > $first
    ),
    chosen AS (
      SELECT n, $now - cast(n * $stepMs AS integer) AS at, n * 7919 % 1000 AS luck,
        CASE WHEN n % 3 = 0 THEN $linear ELSE $github END AS integration_id,
        CASE WHEN n % 3 = 0 THEN 'linear' ELSE 'github' END AS type
      FROM numbers
    ),
    named AS (
      SELECT *, strftime('%Y-%m-%dT%H:%M:%fZ', at / 1000.0, 'unixepoch') AS created_at,
        CASE WHEN n > $entries - 100 THEN '${RARE_EVENT}' WHEN type = 'linear' THEN 'Issue'
          WHEN luck = 500 THEN 'release' WHEN luck % 4 = 1 THEN 'pull_request' ELSE 'push' END AS event
      FROM chosen
    )
    INSERT INTO deliveries (id, organization_id, integration_id, integration_type, title, status, status_code,
      reference_id, event, action, data, reason, count, body_hash, duration_ms, retention_days, created_at, expires_at)
    SELECT printf('dlv_%012x', at) || lower(hex(randomblob(6))), $organizationId, integration_id, type,
      'Delivery ' || n || ' of what was shipped',
      CASE WHEN luck < 800 THEN 'processed' WHEN luck < 940 THEN 'ignored' WHEN luck < 970 THEN 'duplicate'
        WHEN luck < 990 THEN 'rejected' ELSE 'failed' END,
      CASE WHEN luck < 970 THEN 200 WHEN luck < 990 THEN 401 ELSE 500 END,
      lower(hex(randomblob(16))), event,
      CASE event WHEN 'push' THEN 'pushed' WHEN 'pull_request' THEN 'merged' WHEN 'release' THEN 'published' ELSE 'completed' END,
      CASE WHEN luck >= 800 THEN NULL
        WHEN event = 'push' THEN json_set($push, '$.after', printf('%040x', 4 * n), '$.pushedAt', created_at,
          '$.commits[0].id', printf('%040x', 4 * n + 2), '$.commits[0].timestamp', created_at,
          '$.commits[1].id', printf('%040x', 4 * n + 1), '$.commits[1].timestamp', created_at,
          '$.commits[2].id', printf('%040x', 4 * n), '$.commits[2].timestamp', created_at)
        WHEN event = 'pull_request' THEN json_set($pull_request, '$.number', n, '$.mergedAt', created_at)
        WHEN event = 'release' THEN json_set($release, '$.tagName', 'v' || n, '$.publishedAt', created_at)
        WHEN event = 'Issue' THEN json_set($Issue, '$.id', 'issue_' || n, '$.completedAt', created_at)
      END,
      CASE WHEN luck >= 800 THEN 'It was not what anybody waits for' END,
      1, randomblob(32), n % 40, ${DAYS}, created_at, at + ${DAYS * DAY_MS}
    FROM named`;
