import { median } from './statistics.ts';
import { table } from './table.ts';

/** One server, asked for some seconds. */
export interface Sample {
  requestsPerSecond: number;
  /** Null where the system does not say. */
  cpuMicrosecondsPerRequest: number | null;
}

/** The samples of a case by server, one for each round. */
export interface CaseSamples {
  name: string;
  servers: Map<string, Sample[]>;
}

/** Of the median. */
const UNSTEADY_BELOW = 0.7;

interface Ratio {
  median: number;
  lowest: number;
  highest: number;
}

export interface CaseSummary {
  name: string;
  requestsPerSecond: Record<string, number>;
  cpuMicrosecondsPerRequest: Record<string, number | null>;
  /** The subject's requests a second divided by another server's, by round. */
  ratios: Record<string, Ratio>;
  /** Another server's processor time for a request divided by the subject's, by round. Empty where it is unknown. */
  cpuRatios: Record<string, Ratio>;
  rounds: Record<string, number[]>;
}

/** Sets the first server, the subject, against each of the others. */
export function summarize({ name, servers }: CaseSamples): CaseSummary {
  const [subject = [], ...peers] = servers.values();
  const names = [...servers.keys()];
  return {
    name,
    requestsPerSecond: mapValues(servers, (samples) => Math.round(median(rates(samples)))),
    cpuMicrosecondsPerRequest: mapValues(servers, (samples) =>
      knownMedian(samples.map((sample) => sample.cpuMicrosecondsPerRequest)),
    ),
    ratios: Object.fromEntries(
      peers.map((peer, index) => [names[index + 1], ratio(rates(subject), rates(peer))]),
    ),
    cpuRatios: Object.fromEntries(
      peers.flatMap((peer, index) => {
        const [own, other] = [cpuTimes(subject), cpuTimes(peer)];
        return own === null || other === null ? [] : [[names[index + 1], ratio(other, own)]];
      }),
    ),
    rounds: mapValues(servers, (samples) => rates(samples).map(Math.round)),
  };
}

/** True if a server's rounds differ so much that the machine must have had other work. */
export function isUnsteady(summaries: readonly CaseSummary[]): boolean {
  return summaries.some(({ rounds }) =>
    Object.values(rounds).some((rates) => Math.min(...rates) < median(rates) * UNSTEADY_BELOW),
  );
}

/** Tables: requests a second, ratios, and processor time. */
export function describeSummaries(summaries: readonly CaseSummary[]): string {
  const [first] = summaries;
  if (first === undefined) return 'Nothing was measured.';
  const servers = Object.keys(first.requestsPerSecond);
  const subject = servers[0] ?? '';
  return [
    grid('Requests a second', servers, summaries, (each, server) =>
      String(each.requestsPerSecond[server] ?? '–'),
    ),
    grid(
      `Requests that ${subject} answers for one of the other's (lowest and highest round)`,
      servers.slice(1),
      summaries,
      (each, server) => describeRatio(each.ratios[server]),
    ),
    grid(
      'Processor time of the server for one request, µs',
      servers,
      summaries,
      (each, server) => each.cpuMicrosecondsPerRequest[server]?.toFixed(1) ?? '–',
    ),
  ].join('\n\n');
}

function grid(
  title: string,
  servers: readonly string[],
  summaries: readonly CaseSummary[],
  cell: (summary: CaseSummary, server: string) => string,
): string {
  const rows = summaries.map((each) => servers.map((server) => cell(each, server)));
  const widths = servers.map((server, column) =>
    Math.max(server.length, ...rows.map((row) => row[column]?.length ?? 0)),
  );
  const aligned = (cells: readonly string[]) =>
    cells.map((each, column) => each.padStart(widths[column] ?? 0));
  const lines = table(
    ['', ...aligned(servers.map((server) => server.toUpperCase()))],
    summaries.map(({ name }, index) => [name, ...aligned(rows[index] ?? [])]),
  );
  return `${title}\n${lines}`;
}

function ratio(subject: readonly number[], peer: readonly number[]): Ratio {
  const byRound = subject.map((rate, round) => rate / (peer[round] ?? Number.NaN));
  return {
    median: median(byRound),
    lowest: Math.min(...byRound),
    highest: Math.max(...byRound),
  };
}

function describeRatio(given: Ratio | undefined): string {
  if (given === undefined) return '–';
  const [middle, lowest, highest] = [given.median, given.lowest, given.highest].map((each) =>
    each.toFixed(2),
  );
  return `${middle} (${lowest}–${highest})`;
}

function knownMedian(values: readonly (number | null)[]): number | null {
  const known = values.filter((each) => each !== null);
  return known.length === 0 ? null : median(known);
}

/** Null where the system does not report them. */
function cpuTimes(samples: readonly Sample[]): number[] | null {
  const known = samples.map((sample) => sample.cpuMicrosecondsPerRequest).filter((each) => each !== null);
  return known.length === samples.length ? known : null;
}

const rates = (samples: readonly Sample[]) => samples.map((sample) => sample.requestsPerSecond);

function mapValues<Value>(
  servers: ReadonlyMap<string, Sample[]>,
  map: (samples: Sample[]) => Value,
): Record<string, Value> {
  return Object.fromEntries([...servers].map(([name, samples]) => [name, map(samples)]));
}
