// Metrics in Prometheus' text format 0.0.4. Not prom-client: every request counts, which takes about ten nanoseconds
// here and thirty times that there, because it sorts and joins the labels each time.

/** A value for each set of labels, at the moment when it is asked for. */
export interface Sample {
  labels?: Readonly<Record<string, string>>;
  value: number;
}

/** A counter for one set of labels. The hottest paths keep it, so that labels are looked up once. */
export type Count = Pick<ReturnType<typeof createCount>, 'value'>;

export type Durations = Pick<ReturnType<typeof createHistogram>, 'observe'>;

type Reading = number | readonly Sample[] | null;

type Problem = (name: string, error: unknown) => void;

interface Family {
  name: string;
  type: 'counter' | 'gauge' | 'histogram';
  help: string;
  /** The lines after `# HELP` and `# TYPE`. */
  lines(): string[] | Promise<string[]>;
}

export function createRegistry() {
  const families = new Map<string, Family>();
  const add = (name: string, type: Family['type'], help: string, lines: Family['lines']) => {
    if (families.has(name) && type !== 'gauge') throw new Error(`the metric ${name} exists already`);
    families.set(name, { name, type, help, lines });
  };
  const addSeries = <Kind extends { lines(name: string, labels: string): string[] }>(
    name: string,
    type: Family['type'],
    help: string,
    labelNames: readonly string[],
    create: () => Kind,
  ) => {
    const byValues = new Map<string, { values: readonly string[]; each: Kind }>();
    const labelsOf = (values: readonly string[]) =>
      labelText(Object.fromEntries(labelNames.map((name, at) => [name, values[at] ?? ''])));
    add(name, type, help, () =>
      [...byValues.values()].flatMap(({ values, each }) => each.lines(name, labelsOf(values))),
    );
    return (...values: string[]): Kind => {
      const key = values.join('\0');
      const known = byValues.get(key) ?? { values, each: create() };
      byValues.set(key, known);
      return known.each;
    };
  };

  return {
    /** The name ends in `_total`. */
    counter: (name: string, help: string, labelNames: readonly string[]) =>
      addSeries(name, 'counter', help, labelNames, createCount),
    /** The name ends in `_seconds`; `bounds` ascend. */
    histogram: (name: string, help: string, labelNames: readonly string[], bounds: readonly number[]) =>
      addSeries(name, 'histogram', help, labelNames, () => createHistogram(bounds)),
    /**
     * Calls `read` for each response; leaves the metric out when it throws. A gauge of the same name replaces it.
     * `type`: a counter that grows elsewhere, such as processor time.
     */
    gauge(
      name: string,
      help: string,
      read: () => Reading | Promise<Reading>,
      type: 'gauge' | 'counter' = 'gauge',
    ): void {
      add(name, type, help, async () => {
        const value = (await read()) ?? [];
        const samples: readonly Sample[] = typeof value === 'number' ? [{ value }] : value;
        return samples.map(({ labels = {}, value }) => line(name, labelText(labels), value));
      });
    },
    /** All metrics, in the order in which they were added. `onError` gets those that could not be read. */
    async render(onError?: Problem): Promise<string> {
      let text = '';
      for (const family of families.values()) text += await renderFamily(family, onError);
      return text;
    },
  };
}

function createCount() {
  const count = {
    value: 0,
    lines: (name: string, labels: string) => [line(name, labels, count.value)],
  };
  return count;
}

function createHistogram(bounds: readonly number[]) {
  // One for each bound, without the counts of lower ones, and one for values above all bounds.
  const counts = new Float64Array(bounds.length + 1);
  let sum = 0;
  return {
    observe(seconds: number): void {
      let at = 0;
      while (at < bounds.length && seconds > (bounds[at] ?? 0)) at++;
      counts[at] = (counts[at] ?? 0) + 1;
      sum += seconds;
    },
    lines(name: string, labels: string): string[] {
      let total = 0;
      const buckets = [...bounds.map(String), '+Inf'].map((bound, at) => {
        total += counts[at] ?? 0;
        return line(`${name}_bucket`, [labels, `le="${bound}"`].filter(Boolean).join(','), total);
      });
      return [...buckets, line(`${name}_sum`, labels, sum), line(`${name}_count`, labels, total)];
    },
  };
}

async function renderFamily({ name, type, help, lines }: Family, onError?: Problem): Promise<string> {
  let samples: string[] = [];
  try {
    samples = await lines();
  } catch (error) {
    onError?.(name, error);
  }
  return `${[`# HELP ${name} ${escaped(help)}`, `# TYPE ${name} ${type}`, ...samples].join('\n')}\n`;
}

function line(name: string, labels: string, value: number): string {
  return `${name}${labels === '' ? '' : `{${labels}}`} ${value}`;
}

function labelText(labels: Readonly<Record<string, string>>): string {
  return Object.entries(labels)
    .map(([name, value]) => `${name}="${escaped(value).replaceAll('"', '\\"')}"`)
    .join(',');
}

const escaped = (text: string) => text.replaceAll('\\', '\\\\').replaceAll('\n', '\\n');

/** For the help text of a gauge that is no sum of what the processes report. */
export const OF_DATABASE = 'All processes on a database report the same value: use the maximum, not the sum.';

/** One sample for each name, which is the value of `label`. */
export function samplesBy(label: string, values: Readonly<Record<string, number>>): Sample[] {
  return Object.entries(values).map(([name, value]) => ({ labels: { [label]: name }, value }));
}

/** In seconds. Most responses take well under a millisecond, so the first bounds are close together. */
const BOUNDS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5] as const;

/** Counters and histograms that features update while they work. */
export type Metrics = ReturnType<typeof createMetrics>;

/** `providerIds` get a zero for each outcome, so that the first failure shows as an increase. */
export function createMetrics(providerIds: readonly string[] = []) {
  const registry = createRegistry();
  const deliveries = registry.counter(
    'tidings_deliveries_total',
    'Deliveries to a known integration, by log status.',
    ['provider', 'outcome'],
  );
  for (const provider of providerIds) {
    for (const outcome of ['processed', 'ignored', 'duplicate', 'rejected', 'failed'])
      deliveries(provider, outcome);
  }
  const polls = registry.counter(
    'tidings_polls_total',
    'Rounds of polling a repository: with news, unchanged, or failed.',
    ['provider', 'outcome'],
  );
  const failedDeliveries = { inARow: 0, lastAtMs: 0 };
  registry.gauge(
    'tidings_deliveries_failed_in_a_row',
    'Consecutive verified deliveries that failed because of the disk or the database.',
    () => failedDeliveries.inARow,
  );
  const verifications = registry.counter(
    'tidings_key_verifications_total',
    'API key verifications; unavailable: the verifier did not respond.',
    ['outcome'],
  );
  const passwordHashes = registry.counter(
    'tidings_password_hashes_total',
    'Password hashes: done, dropped with their request, or refused because the queue was full.',
    ['outcome'],
  );
  return {
    registry,
    requests: registry.counter('tidings_http_requests_total', 'Requests, by route pattern.', [
      'route',
      'method',
      'status',
    ]),
    requestDurations: registry.histogram(
      'tidings_http_request_duration_seconds',
      'Time until the response began.',
      ['route', 'method'],
      BOUNDS,
    ),
    deliveries,
    polls,
    hookAttempts: registry.counter(
      'tidings_hook_attempts_total',
      'Requests of rebuild hooks: sent, or failed and possibly retried.',
      ['kind', 'outcome'],
    ),
    /** `lastAtMs` by `performance.now()`. */
    failedDeliveries,
    /** The jobs whose last runs failed: how many in a row, why, and how many milliseconds ago the first one began. */
    failingJobs: new Map<string, { inARow: number; reason: string; agoMs: () => number; effect: string }>(),
    /** The jobs that run now, and for how many milliseconds they have. */
    runningJobs: new Map<string, { agoMs: () => number; effect: string }>(),
    verifications: countsOf(verifications, ['valid', 'invalid', 'forbidden', 'limited', 'unavailable']),
    verificationDurations: registry.histogram(
      'tidings_key_verification_duration_seconds',
      'Duration of API key verifications, outages included.',
      [],
      BOUNDS,
    )(),
    passwordHashes: countsOf(passwordHashes, ['done', 'dropped', 'refused']),
    jobs: registry.counter('tidings_job_runs_total', 'Runs of background jobs.', ['job', 'outcome']),
  };
}

/** The counts of these outcomes, each of which shows from the start. */
function countsOf<const Outcome extends string>(
  series: (outcome: string) => Count,
  outcomes: readonly Outcome[],
) {
  return Object.fromEntries(outcomes.map((name) => [name, series(name)])) as Record<Outcome, Count>;
}
