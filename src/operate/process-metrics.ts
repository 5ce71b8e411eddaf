import type { Database } from '../../db/engine.ts';
import type { Deps } from '../deps.ts';
import { version } from '../lib/build.ts';
import { OF_DATABASE, samplesBy } from '../lib/metrics.ts';

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
