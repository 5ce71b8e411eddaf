import { countLiveClaims } from '../deliveries/count-store.ts';
import type { Deps } from '../deps.ts';
import { countProblems } from '../integrations/hook-store.ts';
import { countPolls } from '../integrations/poll-store.ts';
import { OF_DATABASE, samplesBy } from '../lib/metrics.ts';
import { measureOutbox } from '../rebuild/message-store.ts';
import { measureQueue } from '../triggers/queue-store.ts';

/** Adds gauges that are read from the database. Each must be quick whatever the size, because it holds the thread. */
export function addDatabaseGauges({
  db,
  clock,
  elapsed,
  metrics,
}: Pick<Deps, 'db' | 'clock' | 'elapsed' | 'metrics'>): void {
  const { registry } = metrics;
  registry.gauge(
    'tidings_delivery_claims',
    `Remembered delivery ids, which are not processed again; 100000 means that many or more. ${OF_DATABASE}`,
    () => db.read((tx) => countLiveClaims(tx, elapsed.nowMs())),
  );
  registry.gauge(
    'tidings_trigger_runs',
    `Trigger runs that are queued or failed for good. ${OF_DATABASE}`,
    async () => {
      const { queued, failed } = await db.read(measureQueue);
      return samplesBy('status', { queued, failed });
    },
  );
  registry.gauge(
    'tidings_trigger_run_oldest_age_seconds',
    `Age of the oldest queued trigger run; 0 if the queue is empty. ${OF_DATABASE}`,
    async () => {
      const { oldest } = await db.read(measureQueue);
      return oldest === null ? 0 : Math.max(0, (clock.now().getTime() - Date.parse(oldest)) / 1000);
    },
  );
  registry.gauge(
    'tidings_hook_messages_queued',
    `Messages of rebuild hooks that are queued or wait for a retry. ${OF_DATABASE}`,
    async () => (await db.read(measureOutbox)).queued,
  );
  registry.gauge(
    'tidings_hook_message_oldest_late_seconds',
    `How long the oldest due message of a rebuild hook has waited; 0 if none is due. ${OF_DATABASE}`,
    async () => {
      const { dueSince } = await db.read(measureOutbox);
      return dueSince === null ? 0 : Math.max(0, (clock.now().getTime() - dueSince) / 1000);
    },
  );
  registry.gauge(
    'tidings_webhooks_out_of_line',
    `Webhooks that differ from their desired state because the provider refused a request. ${OF_DATABASE}`,
    () => db.read(countProblems),
  );
  registry.gauge(
    'tidings_polled_repositories',
    `Repositories that are polled, by the outcome of the last round. ${OF_DATABASE}`,
    async () => samplesBy('status', await db.read(countPolls)),
  );
}
