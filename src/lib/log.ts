import { isTerminal, writeWhole } from './disk.ts';
import { withoutControls } from './text.ts';
import { systemClock } from './time.ts';

// Not Pino: without its streams, a start takes a fifth less time.

/** Standard error. Standard output is for scripts. */
const FD = 2;

/** By how much they matter. Nothing is logged at `silent`. */
const levels = ['debug', 'info', 'warn', 'error', 'silent'] as const;

type Level = Exclude<(typeof levels)[number], 'silent'>;

interface Say {
  (message: string): void;
  (fields: object, message: string): void;
}

export interface Logger extends Readonly<Record<Level, Say>> {
  isLevelEnabled(level: Level): boolean;
}

/** Properties that could hold a secret, at any depth of a line. No code logs one on purpose. */
const SECRET_NAMES: ReadonlySet<string> = new Set([
  'authorization',
  'cookie',
  'set-cookie',
  'headers',
  'body',
  'form',
  'key',
  'rootKey',
  'secret',
  'secretKey',
  'token',
  'metricsToken',
  'password',
  'signature',
]);

/** Work goes on without its lines when their reader has closed the pipe, or their disk is full. */
function write(text: string): void {
  try {
    writeWhole(FD, text);
  } catch {
    // There is nowhere else to say so.
  }
}

interface LogOptions {
  /** Properties that each line carries. */
  base?: Readonly<Record<string, string>>;
  /** Tells failures of the system, which may fail every request. A line about one stands for all of its cause in a minute. */
  isOutage?: (error: unknown) => boolean;
}

/** The log that `LOG_LEVEL` and `LOG_FORMAT` ask for, on standard error. */
export async function openLog(
  { logLevel, logFormat }: { logLevel: string; logFormat: 'auto' | 'json' | 'pretty' },
  options?: LogOptions,
): Promise<Logger> {
  const hasColor = logFormat !== 'json' && (await isTerminal(FD));
  if (logFormat !== 'pretty' && !hasColor) return createLog(logLevel, { write }, options);
  return createLog(logLevel, { write: (line) => write(prettyLine(line, hasColor)) }, options);
}

/** A log of JSON lines, each given to `destination`. */
export function createLog(
  level: string,
  { write }: { write(line: string): void },
  { base = {}, isOutage = () => false }: LogOptions = {},
): Logger {
  const lowest = (levels as readonly string[]).indexOf(level);
  const isLevelEnabled = (each: Level) => levels.indexOf(each) >= lowest;
  const onceAMinute = createRepeats();

  const sayAt = (each: Level): Say => {
    if (!isLevelEnabled(each)) return () => undefined;
    return (given: string | object, message?: string) => {
      const [fields, msg] = typeof given === 'string' ? [{}, given] : [given, message];
      const say = (more: object) => {
        const start = { level: each, time: systemClock.now().toISOString(), ...base };
        const failure = 'err' in fields && { err: describeError(fields.err) };
        write(`${lineOf({ ...start, ...more, ...fields, ...failure, msg })}\n`);
      };
      if ('err' in fields && isOutage(fields.err)) {
        const job = 'job' in fields ? fields.job : '';
        onceAMinute(`${each} ${msg} ${job} ${causeOf(fields.err)}`, say);
      } else say({});
    };
  };
  return {
    isLevelEnabled,
    debug: sayAt('debug'),
    info: sayAt('info'),
    warn: sayAt('warn'),
    error: sayAt('error'),
  };
}

/** How long one line stands for all of its cause, and how many causes to tell apart. */
const REPEAT_MS = 60_000;
const MAX_REPEATS = 100;

/**
 * Says the first line of each cause at once. At the end of each minute that had more, says the last of them with their
 * number as `count`.
 */
function createRepeats() {
  const running = new Map<string, { count: number; say: (more: object) => void }>();

  function begin(cause: string, say: (more: object) => void): void {
    const repeats = { count: 0, say };
    running.set(cause, repeats);
    const end = () => {
      running.delete(cause);
      if (repeats.count === 0) return;
      repeats.say({ count: repeats.count });
      begin(cause, repeats.say);
    };
    setTimeout(end, REPEAT_MS).unref();
  }

  return (cause: string, say: (more: object) => void) => {
    const repeats = running.get(cause);
    if (repeats !== undefined) {
      repeats.count++;
      repeats.say = say;
      return;
    }
    say({});
    if (running.size < MAX_REPEATS) begin(cause, say);
  };
}

/** The types and codes of an error and its causes: nothing that differs between requests. */
function causeOf(error: unknown, depth = 0): string {
  if (!(error instanceof Error)) return typeof error;
  const { code, errno, cause } = error as Error & { code?: unknown; errno?: unknown };
  const own = `${error.constructor.name} ${code ?? ''} ${errno ?? ''}`;
  return cause === undefined || depth >= MAX_CAUSES ? own : `${own} < ${causeOf(cause, depth + 1)}`;
}

/** A value that JSON cannot hold takes the other fields with it, but not the line. */
function lineOf({ level, time, msg, ...fields }: Record<string, unknown>): string {
  try {
    return JSON.stringify({ level, time, ...fields, msg }, unlessSecret);
  } catch (error) {
    return JSON.stringify({ level, time, msg, unwritable: String(error) });
  }
}

const unlessSecret = (name: string, value: unknown) => (SECRET_NAMES.has(name) ? '[redacted]' : value);

/** Bounds on an error in the log: characters of each text, and causes. */
const MAX_LENGTH = 8_000;
const MAX_CAUSES = 5;

/** Our secrets and those of other services. The start of a key stays, to identify it. */
const SECRETS: [pattern: RegExp, replacement: string][] = [
  [/\b(tdk_\w{4})\w+/g, '$1…'],
  [/\b(bearer|basic)\s+[^\s"',;]+/gi, '$1 …'],
  [/([?&](?:token|key|secret|password|code)=)[^&\s"']+/gi, '$1…'],
  [/\bsha256=[0-9a-f]{8,}/gi, 'sha256=…'],
  [/\b(gh[a-z]_|[a-z]+_pat_|lin_[a-z]+_|unkey_)\w+/g, '$1…'],
  [/\b(tidings_[a-z]+=)[^;\s"']+/g, '$1…'],
];

/** Picks what to log of an error. Errors of libraries carry requests, headers and whole bodies as properties. */
export function describeError(error: unknown, depth = 0): Record<string, unknown> {
  if (!(error instanceof Error)) return { type: typeof error, message: clean(String(error)) };
  const { code, status, statusCode } = error as { code?: unknown; status?: unknown; statusCode?: unknown };
  return {
    type: error.constructor.name,
    message: clean(error.message),
    stack: error.stack && clean(error.stack),
    code: typeof code === 'string' || typeof code === 'number' ? clean(String(code)) : undefined,
    status: [status, statusCode].find((each) => typeof each === 'number'),
    cause:
      error.cause !== undefined && depth < MAX_CAUSES ? describeError(error.cause, depth + 1) : undefined,
  };
}

function clean(text: string): string {
  const short = text.length > MAX_LENGTH ? `${text.slice(0, MAX_LENGTH)}…` : text;
  return withoutSecrets(withoutControls(short));
}

export function withoutSecrets(text: string): string {
  return SECRETS.reduce((clean, [pattern, replacement]) => clean.replaceAll(pattern, replacement), text);
}

// Lines of the log for people.

const COLORS: Readonly<Record<string, number>> = { debug: 34, info: 32, warn: 33, error: 31 };
const MESSAGE_COLOR = 36;

interface Told {
  readonly type?: string;
  readonly message?: string;
  readonly stack?: string;
  readonly cause?: Told;
}

/** `[12:34:56.789] ERROR: what happened {"about":"it"}`, with the stacks of an error below. */
function prettyLine(line: string, hasColor: boolean): string {
  const { level, time, msg, err, ...fields } = JSON.parse(line) as Record<string, unknown> & { err?: Told };
  const paint = (text: string, color = 0) => (hasColor ? `\u001b[${color}m${text}\u001b[39m` : text);
  const at = new Date(String(time));
  const clock = `${at.toTimeString().slice(0, 8)}.${String(at.getMilliseconds()).padStart(3, '0')}`;
  const name = paint(String(level).toUpperCase(), COLORS[String(level)]);
  const rest = Object.keys(fields).length === 0 ? '' : ` ${JSON.stringify(fields)}`;
  const head = `[${clock}] ${name}: ${paint(withoutControls(String(msg ?? '')), MESSAGE_COLOR)}${rest}`;
  return `${[head, ...stacksOf(err)].join('\n')}\n`;
}

function stacksOf(error: Told | undefined, label = ''): string[] {
  if (error === undefined) return [];
  const { type, message, stack, cause, ...about } = error;
  const facts = Object.keys(about).length === 0 ? '' : ` ${JSON.stringify(about)}`;
  const text = `${label}${stack ?? `${type}: ${message}`}${facts}`;
  const indented = withoutControls(text).replaceAll(/^/gm, '    ');
  return [indented, ...stacksOf(cause, 'caused by ')];
}
