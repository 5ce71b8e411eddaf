import { monitorEventLoopDelay } from 'node:perf_hooks';
import { fileSizes } from '../../db/client.ts';
import { countLiveClaims } from '../deliveries/count-store.ts';
import type { Deps } from '../deps.ts';
import { countProblems } from '../integrations/hook-store.ts';
import { version } from '../lib/build.ts';
import type { Registry, Sample } from '../lib/metrics.ts';
import { measureQueue } from '../triggers/queue-store.ts';

type Reading = number | readonly Sample[];

/**
 * Adds gauges that are read from the database. Returns a function that reads them all; each must be quick whatever the
 * database holds, as it holds the thread. The response leaves out a gauge that cannot be read.
 */
export function addDatabaseGauges({
  db,
  clock,
  log,
  metrics: { registry },
}: Pick<Deps, 'db' | 'clock' | 'log' | 'metrics'>): () => Promise<void> {
  const readers: (() => Promise<void>)[] = [];

  function add(metric: string, help: string, read: () => Promise<Reading>): void {
    let latest: Reading | null = null;
    registry.gauge(metric, help, () => latest);
    readers.push(async () => {
      latest = null;
      try {
        latest = await read();
      } catch (error) {
        log.warn({ metric, err: error }, 'a metric could not be read');
      }
    });
  }

  add(
    'tidings_delivery_claims',
    'Delivery ids that are remembered, so that none is processed twice; 100000 means that many or more.',
    async () => db.read((tx) => countLiveClaims(tx, clock.now())),
  );
  add(
    'tidings_trigger_runs',
    'Runs of triggers that are queued, and those that failed for good.',
    async () => {
      const { queued, failed } = await db.read(measureQueue);
      return [
        { labels: { status: 'queued' }, value: queued },
        { labels: { status: 'failed' }, value: failed },
      ];
    },
  );
  add(
    'tidings_trigger_run_oldest_age_seconds',
    'How long the oldest queued run has waited; 0 when there is none.',
    async () => {
      const { oldest } = await db.read(measureQueue);
      return oldest === null ? 0 : Math.max(0, (clock.now().getTime() - Date.parse(oldest)) / 1000);
    },
  );
  add(
    'tidings_webhooks_out_of_line',
    'Webhooks at providers that differ from their desired state, because the provider refused a request.',
    async () => countProblems(db),
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

  return async () => {
    for (const read of readers) await read();
  };
}

/** How often the event loop is looked at, in milliseconds: a delay that is shorter is not worth waking up for. */
const RESOLUTION_MS = 20;

/** Adds metrics of the process. Returns a function that stops the event loop monitor. */
export function addProcessMetrics(registry: Registry): () => void {
  const delays = monitorEventLoopDelay({ resolution: RESOLUTION_MS });
  delays.enable();

  registry.gauge('tidings_build_info', 'Always 1: the version is in the labels.', () => [
    { labels: { version, bun: Bun.version }, value: 1 },
  ]);
  registry.gauge(
    'process_start_time_seconds',
    'When the process began, in seconds since 1970.',
    () => performance.timeOrigin / 1000,
  );
  registry.gauge('process_resident_memory_bytes', 'The memory that the process holds.', () =>
    process.memoryUsage.rss(),
  );
  registry.counted('process_cpu_seconds_total', 'The processor time that the process has had.', () => {
    const { user, system } = process.cpuUsage();
    return (user + system) / 1e6;
  });
  registry.gauge(
    'tidings_event_loop_delay_seconds',
    'How late the event loop was since these metrics were last read; quantile 1 is the worst.',
    () => {
      const samples = ([0.5, 0.99, 1] as const).map((quantile) => ({
        labels: { quantile: String(quantile) },
        value: (quantile === 1 ? delays.max : delays.percentile(quantile * 100)) / 1e9,
      }));
      delays.reset();
      return samples;
    },
  );
  return () => void delays.disable();
}
