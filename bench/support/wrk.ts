import { join } from 'node:path';
import { cpuSeconds } from './machine.ts';
import { median, ofRounds } from './numbers.ts';
import { type Bench, BenchError, type Figure } from './run.ts';
import { run, type Server } from './server.ts';

// The load comes from wrk (https://github.com/wg/wrk); a Lua script gives it the requests and takes its figures.

/** Paths to request in turn, repeatedly. */
export interface Load {
  paths: string[];
  /** The index of the path to begin with; 0 when absent. */
  first?: number;
  headers: Record<string, string>;
  /** Absent: `GET`. With it, each request carries the next of the bodies, and a value of its own in the header. */
  post?: { bodies: Body[]; countingHeader: string };
}

export interface Body {
  text: string;
  headers: Record<string, string>;
}

export interface Run {
  server: Server;
  load: Load;
  /** How many requests are under way at once; 16 when absent. */
  connections?: number;
}

export interface Sample {
  requests: number;
  requestsPerSecond: number;
  /** NaN where the system does not say. */
  cpuMicros: number;
}

/** Throws `BenchError` without wrk, and when any request failed: such a figure means nothing. */
export async function takeSample(
  bench: Bench,
  { server, load, connections = 16 }: Run,
  seconds: number,
): Promise<Sample> {
  if (Bun.which('wrk') === null)
    throw new BenchError('wrk, which makes the load, is not installed. Debian, Ubuntu: apt-get install wrk.');
  const script = join(bench.folder, `load-${Bun.randomUUIDv7()}.lua`);
  await Bun.write(script, luaScript(load));
  const before = cpuSeconds(server.pid);
  const output = await run(bench, [
    ...[...bench.cores.load, 'wrk', '-t1', `-c${connections}`, `-d${seconds}s`],
    ...['--timeout', '10s', '-s', script, `${server.url}${load.paths[0]}`],
  ]);
  const cpu = cpuSeconds(server.pid) - before;
  const { requests, microseconds, failed } = JSON.parse(output.match(/^\{.*\}$/m)?.[0] ?? '{}');
  if (!(requests > 0) || failed > 0)
    throw new BenchError(`wrk at ${server.url}${load.paths[0]} had failures: ${output}`);
  return {
    requests,
    requestsPerSecond: (requests / microseconds) * 1e6,
    cpuMicros: (cpu / requests) * 1e6,
  };
}

const WARM_UP_SECONDS = 1;

/**
 * Measures every run in each round, one after the other, so that a slow minute of the machine hits all of them. Every
 * other round goes backward. A run continues with the path after the last one of its round before.
 */
export async function measureRounds<Name extends string>(
  bench: Bench,
  runs: Record<Name, Run>,
  { rounds, seconds = 1 }: { rounds: number; seconds?: number },
): Promise<Record<Name, Sample[]>> {
  const each = Object.entries<Run>(runs).map(([name, of]) => ({
    name,
    of,
    sent: 0,
    samples: [] as Sample[],
  }));
  // The first round is not counted: code is compiled, and the file is read into memory.
  for (let round = 0; round <= rounds; round++) {
    for (const one of round % 2 === 0 ? each : each.toReversed()) {
      const load = { ...one.of.load, first: one.sent % one.of.load.paths.length };
      const sample = await takeSample(bench, { ...one.of, load }, round === 0 ? WARM_UP_SECONDS : seconds);
      one.sent += sample.requests;
      if (round > 0) one.samples.push(sample);
    }
  }
  return Object.fromEntries(each.map(({ name, samples }) => [name, samples])) as Record<Name, Sample[]>;
}

/** Requests a second divided by the others', by round, with the processor time. */
export function compare(ours: readonly Sample[], theirs: readonly Sample[]): Figure {
  const byRound = (divide: (own: Sample, other: Sample) => number) =>
    ours.flatMap((own, round) => (theirs[round] ? [divide(own, theirs[round])] : []));
  const figure = ofRounds(byRound((own, other) => own.requestsPerSecond / other.requestsPerSecond));
  const ratio = median(byRound((own, other) => other.cpuMicros / own.cpuMicros));
  if (Number.isNaN(ratio)) return figure;
  const middle = (samples: readonly Sample[]) => median(samples.map(({ cpuMicros }) => cpuMicros));
  return { ...figure, cpu: { ours: middle(ours), theirs: middle(theirs), ratio } };
}

/** One path is left to wrk's own static request, which costs it least. */
function luaScript({ paths, first = 0, headers, post }: Load): string {
  return [
    ...Object.entries(headers).map(([name, value]) => `wrk.headers[${luaText(name)}] = ${luaText(value)}`),
    ...(post === undefined
      ? []
      : [
          `local bodies = {${post.bodies.map(({ text }) => luaLong(text)).join(',')}}`,
          `local headers = {${post.bodies.map(({ headers: own }) => luaTable(own)).join(',')}}`,
          postEach(post.countingHeader),
        ]),
    ...(paths.length > 1 ? [`local paths = {${paths.map(luaText).join(',')}}`, rotate(first)] : []),
    TELL,
  ].join('\n');
}

/** JSON's escapes that paths and headers can hold are Lua's too. */
const luaText = (text: string) => JSON.stringify(text);

const luaTable = (values: Record<string, string>) =>
  `{${Object.entries(values).map(([name, value]) => `[${luaText(name)}]=${luaText(value)}`)}}`;

/** A text of any length and characters, as it is. */
const luaLong = (text: string) => `[==[${text}]==]`;

/** Values of the header are those that no other run has had. */
function postEach(header: string): string {
  return `
local sent, run = 0, "${Bun.randomUUIDv7()}"
request = function()
  local at = sent % #bodies + 1
  sent = sent + 1
  for name, value in pairs(headers[at]) do wrk.headers[name] = value end
  wrk.headers[${luaText(header)}] = run .. "-" .. sent
  return wrk.format("POST", nil, nil, bodies[at])
end`;
}

const rotate = (first: number) => `
local ready, sent = {}, ${first}
init = function()
  for at, path in ipairs(paths) do ready[at] = wrk.format(nil, path) end
end
request = function()
  sent = sent + 1
  return ready[(sent - 1) % #ready + 1]
end`;

/** A status of 400 or more counts as failed. */
const TELL = `
done = function(summary)
  local errors = summary.errors
  io.write(string.format('\\n{"requests":%d,"microseconds":%d,"failed":%d}\\n', summary.requests, summary.duration,
    errors.connect + errors.read + errors.write + errors.timeout + errors.status))
end`;
