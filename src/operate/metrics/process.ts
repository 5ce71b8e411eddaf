import { monitorEventLoopDelay } from 'node:perf_hooks';
import { version } from '../../lib/build.ts';
import type { Registry } from '../../lib/metrics.ts';

/** How often the event loop is looked at, in milliseconds: a delay that is shorter is not worth waking up for. */
const RESOLUTION_MS = 20;

/** What the process is and uses. Returns what stops the watch over the event loop. */
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
