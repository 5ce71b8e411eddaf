import type { Database } from '../../db/engine.ts';
import { measureQueue } from '../drafting/triggers/queue-store.ts';
import { countLiveClaims } from '../integrations/deliveries/count-store.ts';
import { countProblems } from '../integrations/hook-store.ts';
import { countPolls } from '../integrations/poll-store.ts';
import { version } from '../lib/build.ts';
import { OF_DATABASE, samplesBy } from '../lib/metrics.ts';
import { attentionKinds, listAttention } from '../people/attention.ts';
import type { Deps } from '../people/deps.ts';
import { measureOutbox } from '../readers/hooks/message-store.ts';

/** Adds gauges that are read from the database. Each must be quick whatever the size, because it holds the thread. */
export function addDatabaseGauges(deps: Pick<Deps, 'db' | 'clock' | 'elapsed' | 'metrics'>): void {
  const { db, clock, elapsed } = deps;
  const { registry } = deps.metrics;
  registry.gauge(
    'tidings_delivery_claims',
    `Remembered delivery IDs, which are not processed again; 100000 means that many or more. ${OF_DATABASE}`,
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
    'tidings_attention_items',
    `What needs a person, muted items too, as \`tidings attention\` lists it. ${OF_DATABASE}`,
    async () => {
      const items = await db.read((tx) => listAttention(tx));
      return attentionKinds.map((kind) => ({
        labels: { kind },
        value: items.filter((item) => item.kind === kind).length,
      }));
    },
  );
  registry.gauge(
    'tidings_polled_repositories',
    `Repositories that are polled, by the outcome of the last round. ${OF_DATABASE}`,
    async () => samplesBy('status', await db.read(countPolls)),
  );
}

/** How often the event loop is looked at, in milliseconds: a delay that is shorter is not worth waking up for. */
const RESOLUTION_MS = 20;

/** Adds metrics of the process and its files. Returns a function that stops the event loop monitor. */
export function addProcessMetrics({
  metrics: { registry },
  db,
  process: name,
}: Pick<Deps, 'metrics'> & { db: Database; process: string }): () => void {
  // From the first scrape on: without one, nobody pays for it.
  let delays: Awaited<ReturnType<typeof watchDelays>> | undefined;
  async function watchDelays() {
    const { monitorEventLoopDelay } = await import('node:perf_hooks');
    const started = monitorEventLoopDelay({ resolution: RESOLUTION_MS });
    started.enable();
    return started;
  }

  registry.gauge('tidings_build_info', 'Always 1; the labels have the version.', () => [
    // With the name that the log lines of this process carry.
    { labels: { version, bun: Bun.version, ...(db.engine === 'postgres' && { process: name }) }, value: 1 },
  ]);
  registry.gauge(
    'process_start_time_seconds',
    'Start time of the process, in seconds since 1970.',
    () => performance.timeOrigin / 1000,
  );
  registry.gauge('process_resident_memory_bytes', 'Resident memory of the process.', () =>
    process.memoryUsage.rss(),
  );
  registry.gauge(
    'process_cpu_seconds_total',
    'CPU time used by the process.',
    () => {
      const { user, system } = process.cpuUsage();
      return (user + system) / 1e6;
    },
    'counter',
  );
  registry.gauge(
    'tidings_database_bytes',
    `Size of the database and, on SQLite, of its write-ahead log. ${OF_DATABASE}`,
    async () => {
      const sizes = await db.sizes();
      return sizes && samplesBy('file', sizes);
    },
  );
  const { checkpointFailures } = db;
  if (checkpointFailures !== undefined) {
    registry.gauge(
      'tidings_checkpoint_failures_total',
      'Failed attempts to copy the write-ahead log into the database.',
      () => checkpointFailures().total,
      'counter',
    );
  }
  registry.gauge(
    'tidings_event_loop_delay_seconds',
    'Event loop delay since the last scrape; quantile 1 is the maximum.',
    async () => {
      delays ??= await watchDelays();
      const inSeconds = (nanoseconds: number) => nanoseconds / 1e9;
      const samples = samplesBy('quantile', {
        '0.5': inSeconds(delays.percentile(50)),
        '0.99': inSeconds(delays.percentile(99)),
        '1': inSeconds(delays.max),
      });
      delays.reset();
      return samples;
    },
  );
  return () => void delays?.disable();
}
