import { fileSizes } from '../../../db/client.ts';
import { countLiveClaims } from '../../deliveries/count-store.ts';
import type { Deps } from '../../deps.ts';
import { countProblems } from '../../integrations/hook-store.ts';
import { measureQueue } from '../../triggers/queue-store.ts';

/**
 * What is read off the database when somebody asks for the metrics. To add one: a line here with its name, what it
 * means, and a function that is quick whatever the database holds, as it holds the thread.
 */
export function addGauges({
  db,
  clock,
  metrics: { registry },
}: Pick<Deps, 'db' | 'clock' | 'metrics'>): void {
  registry.gauge(
    'tidings_delivery_claims',
    'Delivery ids that are remembered, so that none is processed twice; 100000 means that many or more.',
    () => countLiveClaims(db, clock.now()),
  );
  registry.gauge('tidings_trigger_runs', 'What triggers have to do, and what they gave up.', () => {
    const { queued, failed } = measureQueue(db);
    return [
      { labels: { status: 'queued' }, value: queued },
      { labels: { status: 'failed' }, value: failed },
    ];
  });
  registry.gauge(
    'tidings_trigger_run_oldest_age_seconds',
    'How long the oldest of what triggers have to do has waited; 0 when there is nothing.',
    () => {
      const { oldest } = measureQueue(db);
      return oldest === null ? 0 : Math.max(0, (clock.now().getTime() - Date.parse(oldest)) / 1000);
    },
  );
  registry.gauge(
    'tidings_webhooks_out_of_line',
    'Webhooks at providers that are not as they should be, because the provider did not do what it was asked.',
    () => countProblems(db),
  );
  registry.gauge(
    'tidings_database_bytes',
    'The size of the database file and of its write-ahead log.',
    () => {
      const sizes = fileSizes(db);
      return sizes === null
        ? null
        : [
            { labels: { file: 'database' }, value: sizes.database },
            { labels: { file: 'wal' }, value: sizes.wal },
          ];
    },
  );
}
