import { join } from 'node:path';
import { BenchError } from './bench-error.ts';
import type { Defer } from './run.ts';

// The load comes from wrk (https://github.com/wg/wrk); a Lua script gives it the requests and takes its figures.

/** Paths to request in turn, repeatedly. */
export interface Load {
  paths: string[];
  /** Where in `paths` to begin; 0 when absent. */
  first?: number;
  headers: Record<string, string>;
  /** Absent: `GET`. With it, each request carries the next of the bodies, and a value of its own in the header. */
  post?: { bodies: Body[]; countingHeader: string };
}

export interface Body {
  text: string;
  headers: Record<string, string>;
}

export interface LoadOptions {
  core: string[];
  /** Folder of the script. */
  folder: string;
  defer: Defer;
  seconds: number;
  /** How many requests are under way at once; 16 when absent. */
  connections?: number;
}

/** How much was answered, and in what time. */
export interface Answered {
  requests: number;
  seconds: number;
}

interface Summary {
  requests: number;
  microseconds: number;
  socketErrors: number;
  timeouts: number;
  /** Answers with a status of 400 or more. */
  refused: number;
}

const DEFAULT_CONNECTIONS = 16;

/** Throws `BenchError` that says how to get wrk. */
export function requireWrk(): void {
  if (Bun.which('wrk') !== null) return;
  throw new BenchError(
    'wrk, which makes the load, is not installed. Debian, Ubuntu: apt-get install wrk. macOS: brew install wrk.',
  );
}

/** Throws `BenchError` when any request failed: such a figure means nothing. */
export async function runLoad(url: string, load: Load, options: LoadOptions): Promise<Answered> {
  const summary = await runWrk(url, load, options);
  const { requests, microseconds, ...failures } = summary;
  if (requests === 0 || Object.values(failures).some((count) => count > 0)) {
    throw new BenchError(`wrk at ${url}${load.paths[0]} had failures: ${JSON.stringify(summary)}`);
  }
  return { requests, seconds: microseconds / 1_000_000 };
}

async function runWrk(
  url: string,
  load: Load,
  { core, folder, defer, seconds, connections = DEFAULT_CONNECTIONS }: LoadOptions,
): Promise<Summary> {
  const script = join(folder, `load-${Bun.randomUUIDv7()}.lua`);
  await Bun.write(script, luaScript(load));
  const child = Bun.spawn(
    [
      ...core,
      'wrk',
      '-t1',
      `-c${connections}`,
      `-d${seconds}s`,
      '--timeout',
      '10s',
      '-s',
      script,
      `${url}${load.paths[0]}`,
    ],
    { stdin: 'ignore', stdout: 'pipe', stderr: 'pipe' },
  );
  const forget = defer(async () => child.kill());
  const [output, errors] = await Promise.all([
    Bun.readableStreamToText(child.stdout),
    Bun.readableStreamToText(child.stderr),
  ]);
  const exitCode = await child.exited;
  forget();
  const figures = output.match(/^\{.*\}$/m)?.[0];
  if (exitCode !== 0 || figures === undefined) {
    throw new BenchError(`wrk failed:\n${output}${errors}`);
  }
  return JSON.parse(figures) as Summary;
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

const TELL = `
done = function(summary)
  local errors = summary.errors
  io.write(string.format(
    '\\n{"requests":%d,"microseconds":%d,"socketErrors":%d,"timeouts":%d,"refused":%d}\\n',
    summary.requests, summary.duration, errors.connect + errors.read + errors.write, errors.timeout, errors.status
  ))
end`;
