// Metrics in Prometheus' text format 0.0.4. Own code, as it counts on the way of every request: a count costs some ten
// nanoseconds here and thirty times that in prom-client, which sorts and joins the labels anew each time.

/** A value for each set of labels, at the moment when it is asked for. */
export interface Sample {
  labels?: Readonly<Record<string, string>>;
  value: number;
}

/** What counts up, for one set of labels. Kept by whoever counts often, so that labels are looked up once. */
export interface Count {
  value: number;
}

/** How long something took, for one set of labels. */
export interface Durations {
  observe(seconds: number): void;
}

/** Makes, or finds, the series of these label values, given in the order of the labels' names. */
export type Series<Kind> = (...labelValues: string[]) => Kind;

export interface Registry {
  /** What only ever grows. The name ends in `_total`. */
  counter(name: string, help: string, labelNames: readonly string[]): Series<Count>;
  /** The name ends in `_seconds`; `bounds` ascend. */
  histogram(
    name: string,
    help: string,
    labelNames: readonly string[],
    bounds: readonly number[],
  ): Series<Durations>;
  /**
   * What goes up and down: `read` is called for each answer. When it throws, the answer leaves this metric out. Given
   * again, the newer `read` counts.
   */
  gauge(name: string, help: string, read: () => number | readonly Sample[] | null): void;
  /** The same for what grows elsewhere, such as processor time. */
  counted(name: string, help: string, read: () => number): void;
  /** Everything, in the order in which it was added. `onError` is told of what could not be read. */
  render(onError?: (name: string, error: unknown) => void): string;
}

interface Family {
  name: string;
  type: 'counter' | 'gauge' | 'histogram';
  help: string;
  /** The lines after `# HELP` and `# TYPE`. */
  lines(): string[];
}

export function createRegistry(): Registry {
  const families = new Map<string, Family>();
  const add = (name: string, type: Family['type'], help: string, lines: Family['lines']) => {
    if (families.has(name) && type !== 'gauge') throw new Error(`the metric ${name} is there already`);
    families.set(name, { name, type, help, lines });
  };

  return {
    counter(name, help, labelNames) {
      const { series, all } = createSeries(labelNames, (): Count => ({ value: 0 }));
      add(name, 'counter', help, () => all().map(([labels, { value }]) => line(name, labels, value)));
      return series;
    },
    histogram(name, help, labelNames, bounds) {
      const { series, all } = createSeries(labelNames, () => createHistogram(bounds));
      add(name, 'histogram', help, () => all().flatMap(([labels, each]) => each.lines(name, labels)));
      return series;
    },
    gauge(name, help, read) {
      add(name, 'gauge', help, () => {
        const value = read();
        if (value === null) return [];
        const samples = typeof value === 'number' ? [{ value }] : value;
        return samples.map((sample: Sample) => line(name, labelText(sample.labels ?? {}), sample.value));
      });
    },
    counted(name, help, read) {
      add(name, 'counter', help, () => [line(name, '', read())]);
    },
    render: (onError) => [...families.values()].map((family) => renderFamily(family, onError)).join(''),
  };
}

/** The series of one metric, by their labels. */
function createSeries<Kind>(labelNames: readonly string[], create: () => Kind) {
  const found = new Map<string, Kind>();
  return {
    series(...values: string[]): Kind {
      const labels = labelText(Object.fromEntries(labelNames.map((name, at) => [name, values[at] ?? ''])));
      let each = found.get(labels);
      if (each === undefined) {
        each = create();
        found.set(labels, each);
      }
      return each;
    },
    all: () => [...found],
  };
}

function createHistogram(bounds: readonly number[]) {
  // What fell between a bound and the one before; the last holds what is above all bounds.
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

function renderFamily({ name, type, help, lines }: Family, onError?: (name: string, error: unknown) => void) {
  let found: string[] = [];
  try {
    found = lines();
  } catch (error) {
    onError?.(name, error);
  }
  const told = help.replaceAll('\\', '\\\\').replaceAll('\n', '\\n');
  return `${[`# HELP ${name} ${told}`, `# TYPE ${name} ${type}`, ...found].join('\n')}\n`;
}

function line(name: string, labels: string, value: number): string {
  return `${name}${labels === '' ? '' : `{${labels}}`} ${value}`;
}

function labelText(labels: Readonly<Record<string, string>>): string {
  return Object.entries(labels)
    .map(([name, value]) => `${name}="${escapeLabel(value)}"`)
    .join(',');
}

function escapeLabel(value: string): string {
  return value.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n');
}
