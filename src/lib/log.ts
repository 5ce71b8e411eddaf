import { isatty } from 'node:tty';
import { type DestinationStream, type Logger, pino } from 'pino';
import { withoutControls } from './text.ts';

export type { Logger };

/** Standard error. Standard output is for scripts. */
const FD = 2;

/** Properties that could hold a secret, at the top of a line or one level below. No code logs one on purpose. */
const SECRET_NAMES = [
  'authorization',
  'cookie',
  '["set-cookie"]',
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
] as const;

/** The log that `LOG_LEVEL` and `LOG_FORMAT` ask for, on standard error. Each line carries the properties of `base`. */
export async function openLog(
  { logLevel, logFormat }: { logLevel: string; logFormat: 'auto' | 'json' | 'pretty' },
  base: Readonly<Record<string, string>> = {},
): Promise<Logger> {
  // Synchronous, so that the last lines before a crash are written.
  const destination = pino.destination({ fd: FD, sync: true });
  const isTerminal = isatty(FD);
  const isPretty = logFormat === 'pretty' || (logFormat === 'auto' && isTerminal);
  if (!isPretty || logLevel === 'silent') return createLog(logLevel, destination, base);
  // Loaded only for a terminal, because it loads slowly.
  const { prettyFactory } = await import('pino-pretty');
  const pretty = prettyFactory({ colorize: isTerminal, singleLine: true, translateTime: 'SYS:HH:MM:ss.l' });
  return createLog(logLevel, { write: (line) => void destination.write(pretty(line)) }, base);
}

/** A log of JSON lines, each given to `destination`. */
export function createLog(
  level: string,
  destination: DestinationStream,
  base: Readonly<Record<string, string>> = {},
): Logger {
  return pino(
    {
      level,
      base,
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
      serializers: { err: describeError },
      redact: {
        paths: SECRET_NAMES.flatMap((name) => [name, name.startsWith('[') ? `*${name}` : `*.${name}`]),
        censor: '[redacted]',
      },
    },
    destination,
  );
}

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

/** Replaces keys, tokens and signatures. */
export function withoutSecrets(text: string): string {
  return SECRETS.reduce((clean, [pattern, replacement]) => clean.replaceAll(pattern, replacement), text);
}
