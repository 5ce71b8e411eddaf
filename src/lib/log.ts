import { isatty } from 'node:tty';
import { type DestinationStream, type Logger, pino } from 'pino';
import { describeError } from './log-error.ts';

export type { Logger };

/** Standard error. Standard output holds only what a script may read. */
const FD = 2;

/**
 * Names under which a secret could come into a line. Nothing logs one on purpose: this is the second wall. Each counts
 * at the top of a line and one level below.
 */
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

/** The log that `LOG_LEVEL` and `LOG_FORMAT` ask for, on standard error. */
export async function openLog({
  logLevel,
  logFormat,
}: {
  logLevel: string;
  logFormat: 'auto' | 'json' | 'pretty';
}): Promise<Logger> {
  // Synchronous: the last words before a crash are written.
  const destination = pino.destination({ fd: FD, sync: true });
  const isTerminal = isatty(FD);
  const isPretty = logFormat === 'pretty' || (logFormat === 'auto' && isTerminal);
  if (!isPretty || logLevel === 'silent') return createLog(logLevel, destination);
  // Loaded only where a person looks on: it takes as long to load as much of the rest.
  const { prettyFactory } = await import('pino-pretty');
  const pretty = prettyFactory({ colorize: isTerminal, singleLine: true, translateTime: 'SYS:HH:MM:ss.l' });
  return createLog(logLevel, { write: (line) => void destination.write(pretty(line)) });
}

/** A log of JSON lines, each given to `destination`. */
export function createLog(level: string, destination: DestinationStream): Logger {
  return pino(
    {
      level,
      base: null,
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
